from __future__ import annotations

import pytest

from hybridal.app.insight.saving import saving
from hybridal.core.rules import protocol

from .rounds import round_of

PAPER = protocol("paper")


def test_before_the_first_update_there_is_nothing_to_say() -> None:
    assert saving([], PAPER) == {"seconds": 0.0, "share": 0.0, "sentence": ""}


def test_retraining_always_saves_nothing() -> None:
    found = saving([round_of(1), round_of(2)], PAPER)
    assert (found["seconds"], found["share"]) == (0.0, 0.0)
    assert found["sentence"] == "Every update so far trained the model anew, so nothing is saved yet."


def test_a_fine_tune_saves_the_passes_that_a_retrain_would_have_needed() -> None:
    history = [round_of(1), round_of(2), round_of(3, "finetune", epochs=2), round_of(4, "finetune", epochs=2)]
    found = saving(history, PAPER)
    # Five passes over 30 and 40 labels would have been 350 examples, of which 140 were needed; 0.1 s each.
    assert found["seconds"] == pytest.approx(0.1 * (350 - 140))
    # Steps of 10 examples: 15 in the retrains, 14 in place of 35 in the others.
    assert found["share"] == pytest.approx((35 - 14) / (15 + 35))
    assert found["sentence"] == (
        "2 of 4 updates went on from the last weights: 14 steps where training anew would have taken about 35 steps, "
        "which saved about 21.0 s."
    )


def test_what_took_longer_is_not_called_a_saving() -> None:
    found = saving([round_of(1), round_of(2, "finetune", epochs=9)], PAPER)
    assert found["seconds"] < 0
    assert found["share"] < 0
    assert found["sentence"].endswith("so nothing was saved.")


def test_without_a_retrain_there_is_nothing_to_compare_with() -> None:
    assert "no retraining to compare" in saving([round_of(1, "finetune")], PAPER)["sentence"]


def test_where_nothing_stops_early_the_rules_say_what_a_retrain_would_have_taken() -> None:
    rules = protocol("best", {"max_epochs": 10, "min_steps": 40, "train_batch": 10})
    found = saving([round_of(1), round_of(2, "replay:equal:balanced", epochs=2), round_of(9, "refit", epochs=0)], rules)
    # Twenty labels: twenty epochs of two steps. A refit has no steps, and is no training.
    assert "4 steps where training anew would have taken about 40 steps" in found["sentence"]
