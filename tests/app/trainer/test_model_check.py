from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hybridal.app.trainer.model_check import is_well_typed, main
from hybridal.core.rounds import Cost


def test_why_a_model_is_refused_is_printed_without_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "001").mkdir()
    assert main(tmp_path) == 1
    assert capsys.readouterr().out == "001 is not a run folder: it has no run.json.\n"


@pytest.mark.parametrize(
    ("value", "kind", "good"),
    [
        (Cost(), Cost, True),
        (Cost(steps="3"), Cost, False),  # type: ignore[arg-type]
        ({"steps": 1}, Cost, False),
        (None, Cost | None, True),
        ((1, 2), tuple[int, ...], True),
        ((1, 2.5), tuple[int, ...], False),
        ([1], tuple[int, ...], False),
        ({"a": None}, Mapping[str, float | None], True),
        ({1: 0.5}, Mapping[str, float], False),
        (float("nan"), float, False),
    ],
)
def test_types_are_checked_inside_too(value: Any, kind: Any, good: bool) -> None:
    assert is_well_typed(value, kind) is good
