from __future__ import annotations

from ..visits import Visit


def test_progress_and_doubts_are_there_before_any_model(owner: Visit) -> None:
    found = owner.get("/api/progress").json()
    assert (found["rounds"], found["switch"]) == ([], None)
    assert {"calibration", "saved", "balance", "signal"} <= set(found)
    assert owner.get("/api/doubts").json() == {"doubtful": [], "contradicted": []}
