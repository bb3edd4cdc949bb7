"""Against decisions worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridal.runs.record import RunFolder

from .conftest import hybridal

# Of 1,000 texts right: 500, 600, 604, 606, 611, 614, 618.
ACCURACIES = (0.5, 0.6, 0.604, 0.606, 0.611, 0.614, 0.618)


def csv_of(path: Path, values: tuple[float, ...]) -> Path:
    rows = "".join(f"{round},{value}\n" for round, value in enumerate(values, start=1))
    path.write_text(f"round,value\n{rows}")
    return path


def decided(*arguments: object) -> dict[str, Any]:
    ended = hybridal("what-if", *arguments)
    assert (ended.code, ended.stderr) == (0, "")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize(
    ("options", "stable", "t_star"),
    [
        # The changes are 0.1, 0.004, 0.002, 0.005, 0.003, 0.004; 0.005 itself is not below 0.005.
        ((), [0, 0, 1, 2, 0, 1, 2], 4),
        (("--patience", "1"), [0, 0, 1, 2, 0, 1, 2], 3),
        (("--patience", "3"), [0, 0, 1, 2, 0, 1, 2], None),
        (("--epsilon", "0.006", "--patience", "5"), [0, 0, 1, 2, 3, 4, 5], 7),
        (("--epsilon", "0.0025", "--patience", "1"), [0, 0, 0, 1, 0, 0, 0], 4),
        (("--epsilon", "0.5", "--patience", "1"), [0, 1, 2, 3, 4, 5, 6], 2),
    ],
)
def test_decisions_from_a_csv_file(
    options: tuple[str, ...], stable: list[int], t_star: int | None, tmp_path: Path
) -> None:
    source = csv_of(tmp_path / "values.csv", ACCURACIES)
    found = decided(source, "--column", "value", "--count", "1000", *options)
    assert found["changes"] == [None, 0.1, 0.004, 0.002, 0.005, 0.003, 0.004]
    assert found["stable"] == stable
    assert found["t_star"] == t_star
    assert found["first_finetune_round"] == (None if t_star is None else t_star + 1)
    assert (found["signal"], found["rounds"]) == ("accuracy", 7)


@pytest.mark.parametrize("options", [(), ("--count", "1000")])
def test_float_rounding_decides_nothing(options: tuple[str, ...], tmp_path: Path) -> None:
    """0.611 - 0.606 is a little more than 0.005 in floats."""
    source = csv_of(tmp_path / "values.csv", (0.606, 0.611))
    assert decided(source, "--column", "value", *options)["changes"] == [None, 0.005]


def test_a_signal_that_is_a_change_itself(tmp_path: Path) -> None:
    source = csv_of(tmp_path / "values.csv", (9.0, 0.3, 0.01, 0.02))
    options = ("--signal", "weight-distance", "--epsilon", "0.1", "--patience", "2")
    found = decided(source, "--column", "value", *options)
    assert found["changes"] == [None, 0.3, 0.01, 0.02]
    assert (found["stable"], found["t_star"]) == ([0, 0, 1, 2], 4)


def test_lines_of_json(tmp_path: Path) -> None:
    (tmp_path / "values.jsonl").write_text('{"loss": 0.5}\n\n{"loss": 0.25}\n{"loss": 0.25}\n')
    options = ("--column", "loss", "--signal", "loss", "--epsilon", "0.1", "--patience", "1")
    found = decided(tmp_path / "values.jsonl", *options)
    assert (found["changes"], found["t_star"], found["first_finetune_round"]) == ([None, 0.25, 0.0], 3, 4)


def test_a_run_decides_again_as_it_did(unbroken: Path) -> None:
    found = decided(unbroken, "--epsilon", "0.9", "--patience", "1")
    assert (found["t_star"], found["first_finetune_round"]) == (2, 3)
    assert found["changes"] == [record.changes["accuracy"] for record in RunFolder(unbroken).history()]
    assert decided(unbroken, "--epsilon", "0.9", "--patience", "4")["t_star"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("values.csv",), "--column is missing: name the column of values.csv that holds the values."),
        (("nowhere.csv",), "There is no file nowhere.csv."),
        (("values.csv", "--column", "f1"), "values.csv has no column 'f1' in round 1; it has round, value."),
        (("words.csv", "--column", "value"), "words.csv: 'high' in column 'value', round 2, is not a number."),
        (("empty.csv", "--column", "value"), "empty.csv has no rounds."),
        ((".",), ". is not a run folder: it has no run.json."),
        (("values.csv", "--signal", "bogus"), "There is no signal named 'bogus'"),
        (("values.csv", "--column", "value", "--epsilon", "0"), "--epsilon must be a positive number, not 0.0."),
        (("values.csv", "--column", "value", "--patience", "0"), "--patience must be "),
        (("values.csv", "--column", "value", "--count", "0"), "--count must be at least 1, not 0."),
        (("values.csv", "--signal", "loss", "--count", "9"), "--count is of texts that accuracies were measured on;"),
    ],
)
def test_unusable_values_are_refused(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    csv_of(Path("values.csv"), ACCURACIES)
    Path("words.csv").write_text("value\n0.5\nhigh\n")
    Path("empty.csv").write_text("value\n")
    ended = hybridal("what-if", *arguments)
    assert (ended.code, ended.stdout) == (2, "")
    assert sentence in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_comparison_has_no_one_history(compared: Path) -> None:
    ended = hybridal("what-if", compared)
    assert ended.code == 2
    assert f"{compared} compares several schedules; name a run," in ended.stderr


def test_a_signal_that_was_not_recorded(unbroken: Path) -> None:
    ended = hybridal("what-if", unbroken, "--signal", "loss")
    assert ended.code == 2
    assert "did not record the signal 'loss' (it has accuracy); run with --signals loss." in ended.stderr
