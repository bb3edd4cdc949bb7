"""Rules that every update follows."""

from __future__ import annotations

import pickle

import pytest

from hybridal.updates import UPDATES

from .conftest import Situate

SPECS = [*UPDATES.names(), "anchor:0.25", "replay:3"]


def test_all_updates_are_registered() -> None:
    assert {"retrain", "finetune", "newonly", "anchor", "replay"} <= set(UPDATES.names())


@pytest.mark.parametrize("spec", SPECS)
def test_update_is_rebuilt_from_its_spec(spec: str) -> None:
    update = UPDATES.make(spec)
    assert UPDATES.make(update.spec) == update
    assert UPDATES.make(update.spec).letter == update.letter
    assert pickle.loads(pickle.dumps(update)) == update
    assert update.name == spec.split(":")[0]


def test_update_letters_are_unambiguous() -> None:
    letters = [UPDATES.make(spec).letter for spec in SPECS]
    assert len(set(letters)) == len(SPECS)
    # A word is a sequence of letters with their arguments in brackets, so the first character tells the update.
    assert len({letter[0] for letter in letters}) == len(UPDATES.names())


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("rules", ["paper", "reference", "quick"])
@pytest.mark.parametrize("spec", SPECS)
def test_a_plan_trains_on_labelled_rows_once_each(situate: Situate, spec: str, rules: str, first: bool) -> None:
    now = situate(rules, first)
    before = now.pool.order.tolist()
    rows = UPDATES.make(spec).plan(now).rows.tolist()
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(before)
    assert now.pool.order.tolist() == before
