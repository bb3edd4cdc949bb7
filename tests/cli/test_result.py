from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hybridal.cli.result import decision, print_result, result
from hybridal.facts import Round
from hybridal.record import RunFolder
from hybridal.schedules import make_schedule
from hybridal.settings import Settings
from hybridal.testing import toy_task

from .made_up import history_of


@pytest.mark.parametrize(
    ("spec", "history", "sentence"),
    [
        (
            "hybrid:accuracy:0.05:2",
            history_of("RRRF", [None, 0.01, 0.02, 0.5]),
            "Switch: accuracy changed by less than 0.05 in 2 rounds in a row, first complete in round 3; "
            "fine-tuning from round 4 on.",
        ),
        (
            "hybrid:accuracy:0.05:1",
            history_of("RRFF", [None, 0.01, 0.02, 0.5]),
            "Switch: accuracy changed by less than 0.05 in 1 round, first complete in round 2; "
            "fine-tuning from round 3 on.",
        ),
        (
            "hybrid:accuracy:0.05:2",
            history_of("RRRR", [None, 0.01, 0.2, 0.01]),
            "No switch: there was no stretch in which accuracy changed by less than 0.05 in 2 rounds in a row; "
            "each round retrained.",
        ),
        (
            "hybrid:accuracy:0.05:2",
            history_of("RRRR", [None, 0.2, 0.01, 0.01]),
            "No switch yet: accuracy changed by less than 0.05 in 2 rounds in a row, complete in round 4, the last; "
            "each round retrained.",
        ),
        ("fixed:3", history_of("RRFF", [None, 0.0, 0.0, 0.0]), "Schedule fixed:3: every round as planned, RRFF."),
    ],
    ids=["switch", "switch after one round", "no switch", "switch in the last round", "not a hybrid"],
)
def test_the_decision_in_a_sentence(spec: str, history: Sequence[Round], sentence: str) -> None:
    assert decision(make_schedule(spec), history) == sentence


@pytest.mark.parametrize(("spec", "t_star"), [("hybrid:accuracy:0.05:2", 3), ("fixed:4", None)])
def test_what_programs_get(spec: str, t_star: int | None, tmp_path: Path) -> None:
    history = history_of("RRRF", [None, 0.01, 0.02, 0.5])
    found = result(RunFolder(tmp_path), make_schedule(spec), history)
    assert found == {
        "folder": str(tmp_path),
        "schedule": spec,
        "t_star": t_star,
        "word": "RRRF",
        "rounds": [fact.to_json() for fact in history],
    }


@pytest.mark.parametrize("test", [True, False])
def test_what_people_get(test: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("toy", schedule="fixed:2"), toy_task(), {})
    for fact in history_of("RF", [None, 0.0], test):
        folder.append(fact)
    print_result(folder, json=False, quiet=False)
    lines = capsys.readouterr().out.splitlines()
    measured = "Test: accuracy 0.750, macro-F1 0.250, NLL 0.500 (scaled 0.438), ECE 0.125 (scaled 0.031) on 20 texts."
    assert lines == [
        "Schedule fixed:2: every round as planned, RF.",
        *([measured] if test else []),
        f"Model: {folder.model}",
        f"Report: {folder.report}",
    ]
    assert folder.report.is_file()
