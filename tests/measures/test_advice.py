from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hybridal.core.rounds import Cost, Metrics, MultiLabelMetrics, Round
from hybridal.errors import UserError
from hybridal.measures.advice import (
    ALL_LABELLED,
    DISAGREEMENT_SIGNAL,
    advice,
    advise,
    observations,
    texts_left,
    used_up,
)
from hybridal.measures.forecast import Forecast, Interval, Observation
from hybridal.signals.agreement import Agreement


def calm(rounds: int, first: int = 500, share: float = 0.004, right: int = 44, n: int = 50) -> list[Observation]:
    """Rounds of 32 labels whose models hardly disagree."""
    return [Observation(first + 32 * i, right, n, 0.88, share if i else None) for i in range(rounds)]


def gaining(monkeypatch: pytest.MonkeyPatch, gains: dict[int, tuple[float, float, float]]) -> None:
    """Replaces the forecast by these gains in macro-F1: number of labels, expected, low and high."""

    def scripted(seen: list[Observation], labels: int, classes: int) -> Forecast:
        gain = Interval(*gains[seen[-1].labels])
        return Forecast(labels, None, None, gain, gain)

    monkeypatch.setattr("hybridal.measures.advice.forecast", scripted)


LITTLE, MUCH, UNCLEAR = (0.004, -0.01, 0.02), (0.006, -0.01, 0.02), (0.004, -0.01, 0.12)


@pytest.mark.parametrize(
    ("gains", "classes", "options", "stop"),
    [
        ([LITTLE, LITTLE, LITTLE], 2, {}, True),
        ([MUCH, LITTLE, LITTLE, LITTLE], 2, {}, True),
        ([LITTLE, LITTLE], 2, {}, False),  # two rounds in a row are not three
        ([LITTLE, MUCH, LITTLE], 2, {}, False),
        ([LITTLE, LITTLE, MUCH], 2, {}, False),
        ([LITTLE, LITTLE, UNCLEAR], 2, {}, False),  # from no gain to twelve points
        ([UNCLEAR, UNCLEAR, LITTLE], 2, {}, True),
        ([MUCH, MUCH, LITTLE], 2, {"patience": 1}, True),
        ([MUCH, MUCH, MUCH], 2, {"tolerance": 0.007}, True),
        ([LITTLE, LITTLE, LITTLE], 46, {}, True),  # 230 labels are five a class
        ([LITTLE, LITTLE, LITTLE], 47, {}, False),
    ],
)
def test_advice_stops_after_three_rounds_of_small_gains(
    gains: list[tuple[float, float, float]],
    classes: int,
    options: dict[str, Any],
    stop: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = [230 - 10 * (len(gains) - 1 - i) for i in range(len(gains))]
    gaining(monkeypatch, dict(zip(labels, gains, strict=True)))
    found = advice([Observation(m) for m in labels], classes, **options)
    assert found.stop == stop
    assert found.stop == ("You can stop" in found.sentence)
    assert found.forecast is not None
    assert found.forecast.labels == 330
    assert found.forecast.f1_gain.high == gains[-1][2]


def test_advice_never_stops_before_200_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    gaining(monkeypatch, dict.fromkeys((179, 189, 199, 200), LITTLE))
    assert not advice([Observation(m) for m in (179, 189, 199)], 2).stop
    assert advice([Observation(m) for m in (179, 189, 200)], 2).stop


@pytest.mark.parametrize(
    ("gain", "sentence"),
    [
        (
            (0.03, -0.021, 0.153),
            "100 more labels may change the score by -2 to 15 points. There are too few validation labels to tell. "
            "Keep labelling.",
        ),
        (
            (0.03, 0.001, 0.153),
            "100 more labels should raise the score by about 3 points (likely 0 to 15). Keep labelling.",
        ),
        (
            (-0.001, -0.03, 0.0104),
            "100 more labels should not raise the score (likely -3.0 to 1.0 points). Keep labelling.",
        ),
        (
            (0.0096, 0.001, 0.02),
            "100 more labels should raise the score by about 1 point (likely 0 to 2). Keep labelling.",
        ),
        (
            (0.03, -0.021, 0.09),
            "100 more labels should raise the score by about 3 points (likely -2 to 9). Keep labelling.",
        ),
    ],
)
def test_wide_interval_gives_no_advice_to_stop(
    gain: tuple[float, float, float], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaining(monkeypatch, {230: gain})
    assert advice([Observation(230)], 2).sentence == sentence


def test_stable_model_may_stop_with_the_expected_gain() -> None:
    found = advice(calm(6), classes=2)
    assert found.stop
    assert found.forecast is not None
    assert found.forecast.labels == 500 + 5 * 32 + 100
    assert found.sentence.startswith("100 more labels should raise the score by about 0.")
    assert found.sentence.endswith(" You can stop.")


@pytest.mark.parametrize(
    ("left", "ahead", "words"),
    [(None, 100, "100 more labels"), (100, 100, "100 more labels"), (37, 37, "The last 37 labels")],
)
def test_forecast_is_limited_to_the_texts_left(left: int | None, ahead: int, words: str) -> None:
    found = advice(calm(6), classes=2, left=left)
    assert found.forecast is not None
    assert found.forecast.labels == 500 + 5 * 32 + ahead
    assert found.sentence.startswith(f"{words} should ")
    assert replace(found, sentence=found.sentence.replace("The last 37 labels", "37 more labels")) == advice(
        calm(6), classes=2, ahead=ahead
    )


def test_advice_with_one_text_left() -> None:
    assert advice(calm(6), classes=2, left=1).sentence.startswith("The last label should ")


def test_advice_continues_while_answers_change() -> None:
    found = advice(calm(6, share=0.1), classes=2)
    assert not found.stop
    assert found.sentence.endswith("Keep labelling.")


def test_advice_continues_with_few_labels_even_if_stable() -> None:
    # It may know one class only, and agree with itself for that reason.
    found = advice(calm(4, first=60, share=0.0, right=46), classes=2)
    assert not found.stop
    assert found.sentence.endswith("Label at least 200 texts.")
    assert advice(calm(6), classes=150).sentence.endswith(("Label at least 750 texts.", "Keep labelling."))


def test_without_validation_the_advice_uses_disagreement() -> None:
    assert advice(calm(6, right=0, n=0), classes=2).stop
    assert not advice(calm(6, share=0.1, right=0, n=0), classes=2).stop


@pytest.mark.parametrize("seen", [[], [Observation(300)]])
def test_without_observations_the_advice_is_to_keep_labelling(seen: list[Observation]) -> None:
    found = advice(seen, classes=2)
    assert not found.stop
    assert found.forecast is None
    assert found.sentence.endswith("Keep labelling.")


@pytest.mark.parametrize("bad", [{"ahead": 0}, {"patience": 0}, {"tolerance": 0.0}])
def test_impossible_stopping_rule_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(UserError, match="Advice needs"):
        advice(calm(3), classes=2, **bad)  # type: ignore[arg-type]


def test_round_without_new_labels_keeps_the_last_disagreement() -> None:
    def told(labels: int, moved: float | None) -> Round:
        return Round(1, "refit", "H", labels, Cost(), 1, None, None, None, {"agreement": moved}, (), ())

    seen = observations([told(100, None), told(132, 0.08), told(132, 0.005)])
    assert seen == [Observation(100), Observation(132, disagreement=0.08)]
    # Of the first there is nothing to say, whatever came before it.
    assert observations([told(100, None), told(100, 0.3)]) == [Observation(100)]
    assert not advise([told(100, None), told(100, 0.3)], 2).stop


def test_cross_fitted_scores_are_ignored() -> None:
    measured = Metrics(100, 80, 0.8, 0.79, 0.5, 0.1, 0.2, 0.5, 0.1)
    one = Round(1, "retrain", "R", 100, Cost(), 1, None, None, None, {}, (), (), cross=measured)
    assert observations([one]) == [Observation(100)]
    both = replace(one, validation=replace(measured, n=20, right=15, f1=0.7, support=(18, 2)))
    assert observations([both]) == [Observation(100, 15, 20, 0.7, support=(18, 2))]


def guessing(labels: int, texts: int = 20) -> Round:
    """A round whose model gives all validation texts the same of two classes."""
    half = texts // 2
    measured = Metrics(texts, half, 0.5, 0.333, 0.7, 0.1, 0.5, 0.7, 0.1, support=(half, half))
    return Round(1, "retrain", "R", labels, Cost(), 1, None, measured, None, {"agreement": 0.0}, (), ())


@pytest.mark.parametrize(("labels", "hint"), [(90, "Keep labelling."), (500, "or try another backbone.")])
def test_a_model_that_guesses_gets_no_forecast(labels: int, hint: str) -> None:
    # All its rounds agree perfectly: without the comparison with guessing, that would be praised as settled.
    found = advise([guessing(labels - 64), guessing(labels - 32), guessing(labels)], 2)
    assert (found.stop, found.forecast) == (False, None)
    assert found.sentence.startswith("The model is no better than guessing: it is right on 10 of 20 validation texts")
    assert found.sentence.endswith(hint)
    assert "more labels should" not in found.sentence


@pytest.mark.parametrize(("present", "told"), [(9, True), (32, True), (33, False)])
def test_validation_without_texts_of_most_classes_is_mentioned(present: int, told: bool) -> None:
    support = (1,) * present + (0,) * (64 - present)
    rounds = [Observation(m, present, present, 0.99, 0.001, support) for m in (964, 982, 1000)]
    found = advice(rounds, 64)
    assert (f"Validation has texts of only {present} of 64 classes. Keep labelling." in found.sentence) == told
    assert ("more labels should" in found.sentence) != told
    assert found.stop != told


def test_few_validation_texts_do_not_make_a_model_useless() -> None:
    sentence = advise([guessing(500, texts=6)], 2).sentence
    assert sentence.startswith("The model is not shown to be better than guessing: it is right on 3 of 6")
    assert sentence.endswith("Keep labelling.")


def test_without_unlabelled_texts_the_advice_is_to_stop() -> None:
    assert advise([guessing(60)], 2, left=0) == ALL_LABELLED


def test_texts_left_are_those_without_a_label() -> None:
    assert texts_left([], 100, shares=True) == 100
    assert texts_left([guessing(60)], 100, shares=True) == 20
    assert texts_left([guessing(60)], 100, shares=False) == 40


def test_a_pool_is_used_up_when_nothing_was_chosen_from_it() -> None:
    one = Round(3, "retrain", "R", 100, Cost(), 1, None, None, None, {}, (), ())
    assert used_up([one])
    assert not used_up([])
    assert not used_up([replace(one, acquired=("a",), scores=(0.1,))])
    assert not used_up([replace(one, held=("a",))])
    assert used_up([one], late_class=3)
    assert not used_up([one], late_class=4)


def test_advice_is_shown_as_its_sentence() -> None:
    gain = Interval(0.01, 0.0, 0.02)
    shown = repr(replace(ALL_LABELLED, forecast=Forecast(100, gain, gain, gain, gain)))
    assert shown == "Advice(stop=True, sentence='All texts are labelled.')"


def test_advice_reads_the_agreement_signal() -> None:
    assert Agreement.name == DISAGREEMENT_SIGNAL


def several(labels: int, n: int, support: tuple[int, ...], f1: float, changed: float | None) -> Round:
    """A round of a task with several labels per text; a third of its predictions match exactly."""
    nothing: dict[str, Any] = {"given": support, "hits": support, "support": support, "lrap": 0.8, "hamming": 0.1}
    found = MultiLabelMetrics(n, n // 3, n // 3 / n, f1 - 0.01, 0.3, 0.1, 0.1, 0.3, 0.1, micro_f1=f1, **nothing)
    changes = {DISAGREEMENT_SIGNAL: changed}
    return Round(1, "retrain", "R", labels, Cost(), 1, 1.0, found, None, changes, thresholds=(0.5,) * len(support))


def test_with_several_labels_the_forecast_is_of_micro_f1() -> None:
    # Positives do not sum to the texts: 80 texts have 110 classes.
    known_so_far = [several(200 + 50 * i, 80, (50, 40, 20), 0.8 + 0.01 * i, 0.1 if i else None) for i in range(3)]
    seen = observations(known_so_far)
    assert [(each.right, each.n) for each in seen] == 3 * [(26, 80)]
    assert [each.f1 for each in seen] == pytest.approx([0.8, 0.81, 0.82])
    told = advise(known_so_far, classes=3)
    assert told.forecast is not None
    assert told.sentence.startswith("100 more labels")


def test_with_several_labels_classes_without_a_validation_text_do_not_prevent_a_forecast() -> None:
    support = (20, 15, 0, 0, 0, 0)
    told = advise([several(100, 60, support, 0.9, None), several(150, 60, support, 0.9, 0.1)], classes=6)
    assert told.forecast is not None
    assert "classes" not in told.sentence


def test_with_several_labels_and_few_texts_there_is_no_forecast() -> None:
    few = [several(100, 19, (15, 15), 0.9, None), several(150, 19, (15, 15), 0.9, 0.1)]
    assert "not shown to be better than guessing" in advise(few, classes=2).sentence
    told = advice(observations(few), classes=2)
    assert (told.stop, told.forecast) == (False, None)
    assert told.sentence == "Micro-F1 is not known yet: too few labels to tell. Keep labelling."


def test_with_several_labels_and_no_validation_micro_f1_is_not_known() -> None:
    bare = [replace(several(m, 60, (30, 30), 0.9, 0.1), validation=None) for m in (100, 150)]
    assert advise(bare, classes=2).sentence == (
        "Micro-F1 is not known yet: there are no validation labels. Keep labelling."
    )


def test_with_several_labels_it_is_advised_to_stop_when_nothing_changes() -> None:
    calm_rounds = [several(1000 + 50 * i, 2000, (900, 800, 700), 0.9, 0.001 if i else None) for i in range(5)]
    assert advise(calm_rounds, classes=3).stop
