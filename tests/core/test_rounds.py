from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.core.rounds import PHASES, Chosen, Cost, Metrics, Round
from hybridal.system.files import strict_json
from hybridal.testing.schedule import fake_history

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
METRICS = st.builds(Metrics, n=st.integers(0), right=st.integers(0), accuracy=NUMBERS, f1=NUMBERS, nll=NUMBERS,
                    ece=NUMBERS, brier=NUMBERS, nll_scaled=NUMBERS, ece_scaled=NUMBERS)  # fmt: skip
COUNTS = st.integers(0, 2**40)
ROUNDS = st.builds(
    Round,
    round=st.integers(1, 99),
    update=st.text(),
    update_sequence=st.text(),
    labels=COUNTS,
    cost=st.builds(Cost, COUNTS, COUNTS, COUNTS, COUNTS),
    kept_epoch=COUNTS,
    temperature=st.none() | NUMBERS,
    validation=st.none() | METRICS,
    test=st.none() | METRICS,
    changes=st.dictionaries(st.text(), st.none() | NUMBERS, max_size=3),
    acquired=st.lists(st.text(), max_size=3).map(tuple),
    scores=st.lists(NUMBERS, max_size=3).map(tuple),
    seconds=st.dictionaries(st.sampled_from(PHASES), NUMBERS),
)


@settings(deadline=None)
@given(ROUNDS)
def test_a_round_survives_strict_json(record: Round) -> None:
    again = Round.from_json(json.loads(strict_json(record.to_json())))
    assert again == record
    assert isinstance(again.acquired, tuple)
    assert isinstance(again.scores, tuple)
    assert strict_json(again.to_json()) == strict_json(record.to_json())


def test_later_choice_completes_a_round() -> None:
    whole = fake_history((), 1)[0]
    learnt = replace(whole, acquired=(), scores=())
    chosen = Chosen(1, whole.acquired, whole.scores, ("held",), {"score": 2.0})
    again = Chosen.from_json(json.loads(strict_json(chosen.to_json())))
    assert again == chosen
    assert again.ids == ("held", "text-1")
    assert learnt.completed(again) == replace(whole, held=("held",), seconds={**whole.seconds, "score": 2.0})
    assert Chosen.is_json(chosen.to_json())
    assert not Chosen.is_json(whole.to_json())


def test_reading_does_not_change_what_was_read() -> None:
    data = json.loads(strict_json(fake_history((), 1)[0].to_json()))
    before = json.dumps(data)
    Round.from_json(data)
    assert json.dumps(data) == before


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [({"train": 2.0, "validate": 0.5, "score": 9.0, "signal": 9.0, "select": 9.0, "test": 9.0}, 2.5),
     ({"train": 2.0}, 2.0), ({"validate": 0.5}, 0.5), ({}, 0.0)],
)  # fmt: skip
def test_training_time_is_training_with_its_validation(seconds: dict[str, float], expected: float) -> None:
    assert replace(fake_history((), 1)[0], seconds=seconds).training_time == expected
