from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_plan import distinct_rounds, plan, sharing
from hybridal.schedules import make_schedule
from hybridal.schedules.hybrid import HybridAL
from hybridal.testing import fake_history

SPECS = ["retrain", "finetune", "newonly", "anchor:0.6", "replay:8", "fixed:1", "fixed:3", "fixed:9"]
HYBRID = [f"hybrid:accuracy:0.01:{k}" for k in (1, 2, 3)]


@given(st.lists(st.sampled_from(SPECS), min_size=1, unique=True), st.integers(1, 7))
def test_schedules_that_decide_beforehand_are_counted_exactly(specs: list[str], rounds: int) -> None:
    prefixes = set()
    for spec in specs:
        schedule = make_schedule(spec)
        sequence: tuple[str, ...] = ()
        for t in range(rounds):
            sequence = (*sequence, schedule.decide(fake_history((), 0, t)).letter)
            prefixes.add(sequence)
    assert distinct_rounds(specs, rounds) == (len(prefixes), len(prefixes))


@example(["fixed:3"], ["hybrid:accuracy:0.01:1"], [2, 2, 2], 3)  # fires where the fixed schedule switches
@given(
    st.lists(st.sampled_from(SPECS), unique=True),
    st.lists(st.sampled_from(HYBRID), min_size=1, unique=True),
    st.lists(st.integers(2, 12), min_size=3, max_size=3),
    st.integers(1, 7),
)
def test_the_bounds_hold_wherever_hybrids_fire(
    specs: list[str], hybrids: list[str], t_stars: list[int], rounds: int
) -> None:
    words = set()
    for spec in specs:
        schedule = make_schedule(spec)
        letters = [schedule.decide(fake_history((), 0, t)).letter for t in range(rounds)]
        words |= {tuple(letters[: t + 1]) for t in range(rounds)}
    for spec, t_star in zip(hybrids, t_stars, strict=False):
        hybrid = make_schedule(spec)
        assert isinstance(hybrid, HybridAL)
        fires = max(t_star, hybrid.patience + 1)
        letters = ["R" if t < fires else "F" for t in range(rounds)]
        words |= {tuple(letters[: t + 1]) for t in range(rounds)}
    least, most = distinct_rounds([*specs, *hybrids], rounds)
    assert least <= len(words) <= most


def test_a_plan_counts_cells_runs_and_rounds(tmp_path: Path) -> None:
    study = Study("s", ("imdb",), ("retrain", "finetune", "fixed:2"), seeds=(1, 2), overrides={"rounds": 3})
    folder = StudyFolder.create(tmp_path / "s", study, {})
    found = plan(folder)
    assert (found.cells, found.runs, found.rounds) == (2, 6, 18)
    assert found.least == found.most == 2 * (3 + 3 + 2)
    assert found.saving == (18 / 16, 18 / 16)
    assert found.seconds_left is None
    assert sharing(folder) is None


def test_time_left_comes_from_measured_rounds(tmp_path: Path) -> None:
    study = Study("s", ("imdb",), ("finetune",), seeds=(1,), overrides={"rounds": 4})
    folder = StudyFolder.create(tmp_path / "s", study, {})
    records = [
        {**record.to_json(), "update_sequence": "F" * t} for t, record in enumerate(fake_history((), 0, 2), start=1)
    ]
    folder.home(folder.cells[0]).mkdir(parents=True)
    for record, seconds in zip(records, (2.0, 4.0), strict=True):
        folder.journal(folder.cells[0]).append({**record, "seconds": {"train": seconds}})
    found = plan(folder)
    assert found.done == 2
    assert found.seconds_left == pytest.approx(3.0 * 2)


def test_only_open_cells_have_rounds_left(tmp_path: Path) -> None:
    """The hybrid never fires in the first cell, which is complete with the rounds of retraining alone."""
    study = Study("s", ("imdb",), ("retrain", "hybrid:accuracy:0.01:1"), seeds=(1, 2), overrides={"rounds": 4})
    folder = StudyFolder.create(tmp_path / "s", study, {})
    for cell, rounds in zip(folder.cells, (4, 3), strict=True):
        folder.home(cell).mkdir(parents=True)
        for record in fake_history((), 0, rounds):
            changes = {"accuracy": None if record.round == 1 else 0.5}
            folder.journal(cell).append({**record.to_json(), "changes": changes})
    assert distinct_rounds(folder.cells[0].schedules, 4) == (4, 6)
    assert [folder.finished(cell) for cell in folder.cells] == [2, 0]
    found = plan(folder)
    assert (found.most, found.done, found.left) == (12, 7, 6 - 3)
