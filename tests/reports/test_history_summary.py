from dataclasses import replace

import pytest

from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports import history_summary as told
from hybridal.reports.history_summary import detectors_of, own_detectors
from hybridal.schedules import make_schedule

from .made_up_rounds import SPECS, histories_of, history_of, without_measures


def test_streaks_cover_all_rounds_and_match_the_update_sequence() -> None:
    history = history_of("fixed:4")
    parts = told.streaks(history)
    assert [(part.first, part.last, part.update) for part in parts] == [(1, 3, "retrain"), (4, 10, "finetune")]
    assert told.short_sequence(history) == "R×3 F×7"
    assert told.streaks(()) == []


def test_update_sequence_with_long_letters_is_shown_as_counts() -> None:
    assert told.plain_sequence(history_of("fixed:4")) == "RRRFFFFFFF"
    history = history_of("replay:equal:balanced", 3)
    assert history[-1].update_sequence == "P(equal,balanced)" * 3
    assert told.plain_sequence(history) == "P×3"
    assert told.plain_sequence(()) == ""


def test_totals_are_sums_over_rounds() -> None:
    history = history_of("hybrid:accuracy")
    cost = told.total_cost(history)
    for name in ("steps", "examples", "tokens", "epochs"):
        assert getattr(cost, name) == sum(getattr(record.cost, name) for record in history)
    assert told.total_seconds(history)["train"] == pytest.approx(sum(record.seconds["train"] for record in history))


def test_phases_come_in_their_order_and_unknown_ones_last() -> None:
    record = replace(history_of("retrain", 1)[0], seconds={"test": 1.0, "select": 1.0, "train": 1.0})
    assert told.phase_names({"retrain": [record]}) == ["train", "select", "test"]


def test_final_scores_use_test_if_all_schedules_have_it() -> None:
    histories = histories_of("retrain", "finetune")
    assert told.shared_split(histories) == "test"
    found = told.final(histories["retrain"])
    assert found == ("test", histories["retrain"][-1].test)
    histories["finetune"] = histories["finetune"][:-1]
    assert told.shared_split(histories) == "validation"
    assert told.final(histories["retrain"], "validation") == ("validation", histories["retrain"][-1].validation)
    assert told.final(without_measures(histories["retrain"])) is None
    assert told.final(()) is None


def test_shared_rounds_count_once() -> None:
    assert told.sharing(histories_of("retrain", "fixed:4")) == (20, 17)
    assert told.sharing(histories_of(*SPECS)) == (50, 10 + 10 + 7 + 3 + 4)
    assert told.sharing({}) == (0, 0)


WATCHING = ("hybrid:alpha:0.001:1", "hybrid:alpha:0.0001:3", "retrain")
SCHEDULES = {spec: make_schedule(spec) for spec in WATCHING}


def test_each_schedule_keeps_its_own_threshold_and_deciding_signals_come_first() -> None:
    found = own_detectors(histories_of(*WATCHING), SCHEDULES)
    assert list(found) == ["alpha", "accuracy", "loss"]
    assert found["alpha"] == {WATCHING[0]: Stabilisation(0.001, 1), WATCHING[1]: Stabilisation(0.0001, 3)}
    assert found["accuracy"] == {}


def test_signals_that_only_watch_are_read_with_their_usual_threshold() -> None:
    found = detectors_of(histories_of(WATCHING[0]), SCHEDULES)
    assert found["alpha"] == Stabilisation(0.001, 1)
    assert found["accuracy"] == Stabilisation(0.005, 2)
