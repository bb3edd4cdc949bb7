from collections.abc import Sequence
from dataclasses import replace

import pytest

from hybridal.evidence.story import cost_story, settles, story
from hybridal.facts import Round
from hybridal.schedules import make_schedule
from hybridal.signals import SIGNALS
from hybridal.stabilisation import Stabilisation

from .made_up import bare, history_of


def told(spec: str, history: Sequence[Round], planned: int | None = 10) -> str:
    return " ".join(story(history, make_schedule(spec), planned))


def test_a_finished_hybrid_run_is_told_with_its_reason() -> None:
    history = history_of("hybrid:accuracy")
    assert history[-1].word == "RRRRRRRFFF"
    text = told("hybrid:accuracy", history)
    assert text.startswith("10 rounds, 192 labels. In rounds 1–7 the model was retrained")
    assert "changed by less than 0.5 points twice in a row (rounds 6 and 7), so from round 8 on" in text
    test = history[-1].test
    assert test is not None
    assert f"on 1,600 test texts: macro-F1 {test.f1:.3f}, accuracy {test.accuracy:.3f}" in text
    assert f"{test.nll:.3f} ({test.nll_scaled:.3f} after temperature {history[-1].temperature:.2f})" in text


def test_a_run_that_is_going_on_says_so_and_is_measured_on_validation() -> None:
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
        ("fixed:4", "In rounds 4–10 the model was fine-tuned"),
    ],
)
def test_every_schedule_has_its_words(spec: str, phrase: str) -> None:
    assert phrase in told(spec, history_of(spec))


def test_a_schedule_that_changes_its_mind_often_is_told_in_short() -> None:
    history = [replace(fact, update=("retrain", "theirs")[fact.round % 2]) for fact in history_of("retrain")]
    assert "changed 9 times: 'theirs' in 5 rounds and 'retrain' in 5 rounds" in told("retrain", history)


def test_what_is_not_known_is_not_told() -> None:
    history = bare(history_of("hybrid:accuracy", 1))
    text = told("hybrid:accuracy", history)
    assert "1 of 10 rounds" in text
    assert "no labelled validation or test texts" in text
    assert "By the clock" not in " ".join(cost_story(history))
    assert story((), make_schedule("retrain")) == ["No round is complete yet: there is nothing to report so far."]
    assert cost_story(()) == []


def test_the_cost_is_the_sum_of_the_facts() -> None:
    history = history_of("retrain")
    text = " ".join(cost_story(history))
    assert f"{sum(fact.cost.steps for fact in history):,} optimiser steps" in text
    assert "186 thousand tokens" in text
    assert sum(fact.cost.tokens for fact in history) == 186_000
    assert "train 1 min 19 s" in text
    assert round(sum(fact.seconds["train"] for fact in history)) == 79


@pytest.mark.parametrize("signal", SIGNALS.names())
def test_every_installed_signal_has_a_plain_name(signal: str) -> None:
    assert f"'{signal}'" not in settles(signal, Stabilisation(0.01, 2))
