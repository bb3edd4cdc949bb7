"""What schedules decide when the labels speak for another pretrained encoder."""

from __future__ import annotations

import pytest

from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.rounds import LabelChanges
from hybridal.schedules import decide, make_schedule
from hybridal.testing import fake_history

CHANGED = LabelChanges(
    known=90, added=10, encoder=EncoderChoice("b", True, 100, {}, "b: log loss 0.4 against 0.6 of a")
)


@pytest.mark.parametrize(
    ("spec", "update"),
    [
        ("auto", "retrain"),
        ("hybrid:loss", "retrain"),
        ("fixed:2", "retrain"),
        ("finetune", "finetune"),
        ("refit", "refit"),
    ],
)
def test_a_schedule_decides_as_in_a_first_round(spec: str, update: str) -> None:
    schedule = make_schedule(spec)
    found = decide(schedule, fake_history(schedule.watches, seed=1, rounds=9), CHANGED)
    assert (found.spec, found.reason) == (update, "new encoder, b: log loss 0.4 against 0.6 of a")


def test_an_encoder_that_stays_changes_nothing() -> None:
    schedule = make_schedule("fixed:2")
    stays = LabelChanges(known=90, added=10, encoder=EncoderChoice("a", False, 100))
    assert decide(schedule, fake_history((), seed=1, rounds=9), stays).spec == "finetune"
