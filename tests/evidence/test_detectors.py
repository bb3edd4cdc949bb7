from hybridal.evidence.history import detectors_of, own_detectors
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import make_schedule

from .made_up import histories_of

SPECS = ("hybrid:alpha:0.001:1", "hybrid:alpha:0.0001:3", "retrain")
SCHEDULES = {spec: make_schedule(spec) for spec in SPECS}


def test_each_schedule_keeps_its_own_threshold_and_deciding_signals_come_first() -> None:
    found = own_detectors(histories_of(*SPECS), SCHEDULES)
    assert list(found) == ["alpha", "accuracy", "loss"]
    assert found["alpha"] == {SPECS[0]: Stabilisation(0.001, 1), SPECS[1]: Stabilisation(0.0001, 3)}
    assert found["accuracy"] == {}


def test_signals_that_only_watch_are_read_with_their_usual_threshold() -> None:
    found = detectors_of(histories_of(SPECS[0]), SCHEDULES)
    assert found["alpha"] == Stabilisation(0.001, 1)
    assert found["accuracy"] == Stabilisation(0.005, 2)
