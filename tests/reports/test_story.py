from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.rounds import LabelChanges, Round
from hybridal.measures.advice import ALL_LABELLED, Advice, advise
from hybridal.measures.certainty import accuracy_in_words, f1_in_words
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.encoder_story import encoder_story, larger_encoder
from hybridal.reports.story import cost_story, outlook, settles, story
from hybridal.schedules import make_schedule
from hybridal.signals import SIGNALS
from hybridal.testing import fake_history

from .made_up_rounds import ABOUT, history_of, metrics, without_measures


def told(spec: str, history: Sequence[Round], planned: int | None = 10) -> str:
    return " ".join(story(history, make_schedule(spec), planned))


def test_story_of_a_finished_hybrid_run_has_its_reason() -> None:
    history = history_of("hybrid:accuracy")
    assert history[-1].update_sequence == "RRRRRRRFFF"
    text = told("hybrid:accuracy", history)
    assert text.startswith("10 rounds, 192 labels. In rounds 1–7 the model was retrained")
    assert "changed by less than 0.5 points twice in a row (rounds 6 and 7), so from round 8 on" in text
    test = history[-1].test
    assert test is not None
    assert f"on 1,600 test texts: {accuracy_in_words(test)}, {f1_in_words(test)}, negative log-likelihood" in text
    assert f"{test.nll:.3f} ({test.nll_scaled:.3f} after temperature {history[-1].temperature:.2f})" in text


def test_story_of_an_unfinished_run_uses_validation() -> None:
    text = told("hybrid:accuracy", history_of("hybrid:accuracy")[:4])
    assert "not at its end: 4 of 10 rounds are done, with 96 labels so far" in text
    assert "still waits to switch" in text
    assert "800 validation texts" in text


def test_a_run_that_settles_in_its_last_round_has_not_been_fine_tuned() -> None:
    text = told("hybrid:accuracy", history_of("hybrid:accuracy", 7), 7)
    assert "(rounds 6 and 7), so the next round would be fine-tuned." in text
    assert "was fine-tuned" not in text


@pytest.mark.parametrize(
    ("spec", "phrase"),
    [
        ("retrain", "In every round the model was retrained"),
        ("finetune", "the first round: from the pretrained ones"),
        ("newonly", "on the newest labels alone"),
        ("anchor:0.6", "share 0.6 of the way"),
        ("replay:96", "the newest labels and 96 older ones"),
        ("replay:equal", "the newest labels and as many older ones."),
        ("replay:equal:balanced", "the newest labels and as many older ones, drawn to balance the classes."),
        ("refit", "only its head was refitted, to all labels"),
        ("fixed:4", "In rounds 4–10 the model was fine-tuned"),
    ],
)
def test_every_schedule_has_a_sentence(spec: str, phrase: str) -> None:
    assert phrase in told(spec, history_of(spec))


def with_reasons(reasons: Mapping[int, str], disagreement: float | None = 0.1) -> list[Round]:
    """A run of `auto`: it retrained in these rounds, and replayed in the others."""
    return [
        replace(
            record,
            update="retrain" if record.round in reasons else "replay:equal:balanced",
            reason=reasons.get(record.round, ""),
            changes={"agreement": disagreement if record.round > 1 else None, "drift": None},
        )
        for record in history_of("retrain")
    ]


def test_story_of_an_automatic_run_has_its_reasons() -> None:
    reasons = {1: "the encoder is untrained", 5: "1 new class", 8: "9 labels corrected or withdrawn"}
    sentences = story(with_reasons(reasons), make_schedule("auto"), 10)
    assert sentences[1:3] == [
        "In round 1 (the encoder is untrained), round 5 (1 new class) and round 8 (9 labels corrected or withdrawn) "
        "the model was retrained: from the pretrained weights, on all labels.",
        "In the other rounds the model went on from the weights of the round before, on the newest labels and as many "
        "older ones, drawn to balance the classes.",
    ]
    assert len(sentences) == 4


def test_reasons_given_by_a_schedule_are_shown() -> None:
    history: list[Round] = []
    for record in history_of("retrain"):
        update = make_schedule("auto").decide(history)
        history.append(replace(record, update=update.spec, reason=update.reason, changes={"drift": 6.0}))
    again = next(record for record in history[1:] if record.reason)
    assert again.reason.startswith("drifted")
    assert f"In round 1 (the encoder is untrained), round {again.round} ({again.reason})" in told("auto", history)


def test_single_differing_round_is_named() -> None:
    text = told("auto", with_reasons({1: "the encoder is untrained"})[:2], 2)
    assert "In round 2 the model went on from the weights of the round before, on the newest labels" in text
    assert "other rounds" not in text


def test_several_kinds_of_differing_rounds_are_named() -> None:
    history = [
        replace(record, update="refit") if record.round in (3, 4) else record
        for record in with_reasons({1: "the encoder is untrained"})[:6]
    ]
    text = told("auto", history, 6)
    assert "In rounds 2, 5 and 6 the model went on" in text
    assert "In rounds 3 and 4 the model kept the weights of the round before, and only its head" in text


def test_rounds_with_too_few_labels_to_train_on_are_not_called_trained() -> None:
    history = with_reasons(dict.fromkeys((1, 2, 3), "the encoder is untrained"))
    assert [record.labels for record in history[:3]] == [48, 64, 80]
    text = " ".join(story(history, make_schedule("auto"), 10, probe_until=70))
    assert "In rounds 1–2 there were too few labels to train on: the model was a logistic regression" in text
    assert "In round 3 (the encoder is untrained) the model was retrained" in text
    assert "round 1 (" not in text
    every = " ".join(story(history_of("retrain"), make_schedule("retrain"), 10, probe_until=49))
    assert "In round 1 there were too few labels" in every
    assert "In rounds 2–10 the model was retrained" in every
    none = story(history_of("retrain", 2), make_schedule("retrain"), 2, probe_until=1000)
    assert [sentence for sentence in none if "was retrained" in sentence] == []


def test_a_signal_that_settled_before_anything_was_trained() -> None:
    history = [
        replace(record, changes={"accuracy": 0.0 if record.round > 1 else None}) for record in history_of("fixed:4")
    ]
    text = " ".join(story(history, make_schedule("hybrid:accuracy"), 10, probe_until=history[3].labels))
    assert "In rounds 4–10 the model was fine-tuned" in text
    assert "(rounds 2 and 3) before there was anything to train on." in text


def test_advice_is_the_last_sentence_if_agreement_was_measured() -> None:
    history = with_reasons({1: "the encoder is untrained"})
    advice = outlook(history, ABOUT)
    assert advice == advise(history, 2)
    assert story(history, make_schedule("auto"), 10, advice=advice)[-1] == advise(history, 2).sentence
    assert "100 more labels should " in advise(history, 2).sentence
    unwatched = with_reasons({1: "the encoder is untrained"}, None)
    assert outlook(unwatched, ABOUT) is None
    stops = {**ABOUT, "settings": {**ABOUT["settings"], "stop": "auto"}}
    assert outlook(unwatched, stops) == advise(unwatched, 2)
    assert outlook((), stops) is None


def test_advice_looks_ahead_to_the_texts_that_are_left() -> None:
    history = with_reasons({1: "the encoder is untrained"})
    about = {**ABOUT, "task": {**ABOUT["task"], "texts": history[-1].labels + 30}}
    assert outlook(history, about) == advise(history, 2, left=30)
    assert "The last 30 labels should " in advise(history, 2, left=30).sentence
    assert outlook(history, about, left=0) == ALL_LABELLED


def test_a_model_that_guesses_is_called_so_once() -> None:
    guess = metrics(400, 800, 0.1)
    history = [replace(record, validation=guess, test=None) for record in with_reasons({1: "the encoder is untrained"})]
    text = " ".join(story(history, make_schedule("auto"), 10, advice=outlook(history, ABOUT)))
    assert text.count("The model is no better than guessing: it is right on 400 of 800 validation texts") == 1
    assert text.endswith("is right on 400. Keep labelling.")


def test_run_after_its_last_round_is_finished_whatever_the_advice() -> None:
    *history, last = history_of("retrain", 4)
    history.append(replace(last, label_changes=LabelChanges(known=10, last=True)))
    assert story(history, make_schedule("auto"), 25)[0].startswith("The run ended by itself after 4 of 25 rounds")


@pytest.mark.parametrize(("stops", "stop"), [(True, True), (True, False), (False, True)])
def test_a_run_that_ended_by_itself_is_at_its_end(stops: bool, stop: bool) -> None:
    history = with_reasons({1: "the encoder is untrained"})
    advice = Advice(stop, None, "So it is.")
    first = story(history, make_schedule("auto"), 25, advice=advice, stops=stops)[0]
    if stops and stop:
        assert first == "The run ended by itself after 10 of 25 rounds, with 192 labels."
    else:
        assert first == "The run is not at its end: 10 of 25 rounds are done, with 192 labels so far."
    assert story(history, make_schedule("auto"), 10, advice=advice, stops=stops)[0] == "10 rounds, 192 labels."


def test_frequent_update_changes_are_summarised() -> None:
    history = [replace(record, update=("retrain", "theirs")[record.round % 2]) for record in history_of("retrain")]
    assert "changed 9 times: 'theirs' in 5 rounds and 'retrain' in 5 rounds" in told("retrain", history)


def test_unknown_figures_are_left_out() -> None:
    history = without_measures(history_of("hybrid:accuracy", 1))
    text = told("hybrid:accuracy", history)
    assert "1 of 10 rounds" in text
    assert "no labelled validation or test texts" in text
    assert "wall-clock" not in " ".join(cost_story(history))
    assert story((), make_schedule("retrain")) == ["No round is complete yet: there is nothing to report so far."]
    assert cost_story(()) == []


def test_cost_is_the_sum_over_rounds() -> None:
    history = history_of("retrain")
    text = " ".join(cost_story(history))
    assert f"{sum(record.cost.steps for record in history):,} optimiser steps" in text
    assert "186 thousand tokens" in text
    assert sum(record.cost.tokens for record in history) == 186_000
    assert "train 1 min 19 s" in text
    assert round(sum(record.seconds["train"] for record in history)) == 79


@pytest.mark.parametrize("signal", SIGNALS.names())
def test_every_installed_signal_has_a_plain_name(signal: str) -> None:
    assert f"'{signal}'" not in settles(signal, Stabilisation(0.01, 2))


@pytest.mark.parametrize(
    ("signal", "was", "has_been"),
    [
        (
            "agreement",
            "the share of unlabelled texts whose predicted class changed was below 2% twice in a row",
            "the share of unlabelled texts whose predicted class changed has been below 2% twice in a row",
        ),
        (
            "divergence",
            "the probabilities of the unlabelled texts changed by less than 0.02 twice in a row",
            "the probabilities of the unlabelled texts have changed by less than 0.02 twice in a row",
        ),
        (
            "drift",
            "the drift away from a frozen encoder's answers was below 0.02 times its noise twice in a row",
            "the drift away from a frozen encoder's answers has been below 0.02 times its noise twice in a row",
        ),
    ],
)
def test_signals_on_unlabelled_texts_are_described(signal: str, was: str, has_been: str) -> None:
    assert settles(signal, Stabilisation(0.02, 2)) == was
    assert settles(signal, Stabilisation(0.02, 2), "has ") == has_been


def test_a_chosen_encoder_is_named_with_the_figures_that_speak_for_it() -> None:
    why = "b: log loss 0.41 against 0.63 of a on 50 labels"
    choices = [
        EncoderChoice("a", reason="fewer than 10 labels to compare encoders on"),
        EncoderChoice("b", True, 50, {"a": 0.63, "b": 0.41}, why),
        EncoderChoice("b", False, 50, {"a": 0.63, "b": 0.41}, why),
        EncoderChoice("a", True, 100, {"a": 0.4, "b": 0.5}, "a: log loss 0.40 against 0.50 of b on 100 labels"),
    ]
    rounds = [
        replace(record, label_changes=LabelChanges(encoder=choice))
        for record, choice in zip(fake_history((), seed=1, rounds=4), choices, strict=True)
    ]
    assert encoder_story(fake_history((), seed=1, rounds=4)) == []
    assert encoder_story(rounds[:1]) == ["The encoder is a: fewer than 10 labels to compare encoders on."]
    assert encoder_story(rounds[:3]) == [f"The labels chose the encoder {why}.", "It replaced a in round 2."]
    assert encoder_story(rounds)[1:] == ["It replaced b in round 4.", "Before, b replaced a in round 2."]
    assert f"The labels chose the encoder {why}." in story(rounds[:3], make_schedule("retrain"))


def test_an_encoder_that_is_kept_without_the_lowest_loss_is_not_praised_for_it() -> None:
    losses = {"a": 0.44, "b": 0.41, "c": 0.7}
    record = fake_history((), seed=1, rounds=1)[0]
    kept = replace(record, label_changes=LabelChanges(encoder=EncoderChoice("a", False, 40, losses, "why")))
    assert encoder_story([kept]) == [
        "The encoder stays a: log loss 0.44 against 0.41 of b on 40 labels, a difference that may be chance."
    ]
    chosen = replace(record, label_changes=LabelChanges(encoder=EncoderChoice("b", True, 40, losses, "why")))
    assert encoder_story([chosen]) == ["The labels chose the encoder b: log loss 0.41 against 0.44 of a on 40 labels."]
    only = replace(record, label_changes=LabelChanges(encoder=EncoderChoice("a", reason="the only candidate")))
    assert encoder_story([only]) == ["The encoder is a: the only candidate."]


def test_a_larger_encoder_is_recommended_where_it_was_measured_and_is_no_candidate() -> None:
    told = larger_encoder("minilm", [])
    assert told is not None
    assert "gte-small was 4.6 points of macro-F1 better with 50 labels and 1.7 with 968" in told
    assert "backbone" not in told, "the browser has no such option"
    assert told.endswith("A project or a run with the encoder “auto” lets the labels choose.")
    assert larger_encoder("gte-small", []) is None
    assert larger_encoder("./mine", []) is None
    compared = EncoderChoice("minilm", False, 40, {"gte-small": 0.5, "minilm": 0.4})
    record = replace(fake_history((), seed=1, rounds=1)[0], label_changes=LabelChanges(encoder=compared))
    assert larger_encoder("auto:gte-small,minilm", [record]) is None
    alone = replace(record, label_changes=LabelChanges(encoder=EncoderChoice("minilm", reason="the only candidate")))
    assert larger_encoder("auto:minilm", [alone]) == told
