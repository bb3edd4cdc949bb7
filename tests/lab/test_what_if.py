from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.lab.what_if import changes_of, decisions
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules.hybrid import HybridAL
from hybridal.signals import SIGNALS
from hybridal.system.files import strict_json
from hybridal.testing.schedule import fake_history
from hybridal.testing.small import toy_task

ACCURACIES = [0.70, 0.80, 0.802, 0.803, 0.9]


def to_csv(path: Path, values: Sequence[Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("round", "val acc"), *enumerate(values, start=1)])
    return path


def to_jsonl(path: Path, values: Sequence[Any]) -> Path:
    lines = [json.dumps({"round": t, "val acc": value}) for t, value in enumerate(values, start=1)]
    path.write_text("\n\n".join(lines), encoding="utf-8")
    return path


def first_streak(changes: Sequence[Fraction], epsilon: Fraction, k: int) -> int | None:
    """t* by looking at every window; changes[0] is that of round 2."""
    rounds = range(k + 1, len(changes) + 2)
    return next((t for t in rounds if all(change < epsilon for change in changes[t - 1 - k : t - 1])), None)


@pytest.mark.parametrize(("name", "write"), [("a.csv", to_csv), ("a.jsonl", to_jsonl), ("A.NDJSON", to_jsonl)])
def test_decisions_from_a_file_of_values(
    tmp_path: Path, name: str, write: Callable[[Path, Sequence[Any]], Path]
) -> None:
    found = decisions(write(tmp_path / name, ACCURACIES), "val acc", "accuracy")
    # 0.802 - 0.80 and 0.803 - 0.802 are below 0.005: rounds 3 and 4 are stable, and two are enough.
    assert found["t_star"] == 4
    assert found["first_finetune_round"] == 5
    assert found["rounds"] == 5
    assert found["stable"] == [0, 0, 1, 2, 0]
    assert (found["signal"], found["epsilon"], found["patience"]) == ("accuracy", 0.005, 2)
    assert found["changes"][0] is None
    assert found["changes"][1:] == pytest.approx([0.1, 0.002, 0.001, 0.097])


def test_a_schedule_that_never_fires_gives_null(tmp_path: Path) -> None:
    found = decisions(to_csv(tmp_path / "a.csv", ACCURACIES), "val acc", "accuracy", patience=3)
    assert json.loads(strict_json(found))["t_star"] is None
    assert json.loads(strict_json(found))["first_finetune_round"] is None


def test_one_round_never_fires(tmp_path: Path) -> None:
    found = decisions(to_csv(tmp_path / "a.csv", [0.5]), "val acc", "accuracy", patience=1)
    assert (found["changes"], found["t_star"]) == ([None], None)


def test_ties_in_counts_are_ties(tmp_path: Path) -> None:
    """950 and 956 of 1200 differ by exactly 0.005; as floats, other pairs 6 apart differ by less."""
    below = next(r for r in range(1194) if (r + 6) / 1200 - r / 1200 < 0.005)
    source = to_csv(tmp_path / "a.csv", [below / 1200, (below + 6) / 1200])
    assert decisions(source, "val acc", "accuracy", patience=1)["t_star"] is None
    assert decisions(source, "val acc", "accuracy", patience=1, count=1200)["t_star"] is None


@pytest.mark.parametrize(("before", "now"), [("0.300", "0.305"), ("0.79166667", "0.79666667"), ("80.5", "80.505")])
def test_ties_in_decimals_are_ties(tmp_path: Path, before: str, now: str) -> None:
    assert abs(float(now) - float(before)) != 0.005
    found = decisions(to_csv(tmp_path / "a.csv", [before, now, before]), "val acc", "accuracy", patience=1)
    assert (found["changes"], found["t_star"]) == ([None, 0.005, 0.005], None)


def test_rounded_values_need_a_count(tmp_path: Path) -> None:
    """964 and 970 of 1200, to four digits."""
    source = to_csv(tmp_path / "a.csv", ["0.8033", "0.8082"])
    assert decisions(source, "val acc", "accuracy", patience=1)["t_star"] == 2
    assert decisions(source, "val acc", "accuracy", patience=1, count=1200)["t_star"] is None


def test_other_signals_are_compared_as_floats(tmp_path: Path) -> None:
    source = to_csv(tmp_path / "a.csv", ["0.300", "0.305"])
    assert decisions(source, "val acc", "f1", 0.005, 1)["changes"] == [None, 0.305 - 0.3]


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 2000).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1, max_size=12))),
    st.sampled_from(["0.005", "0.01", "0.25", "0.1"]),
    st.integers(1, 3),
)
def test_with_a_count_or_without_every_decision_is_exact(
    tmp_path_factory: pytest.TempPathFactory, counts: tuple[int, list[int]], epsilon: str, k: int
) -> None:
    n, right = counts
    source = to_csv(tmp_path_factory.mktemp("what-if") / "a.csv", [r / n for r in right])
    exact = [Fraction(abs(b - a), n) for a, b in pairwise(right)]
    for count in (n, None):
        found = decisions(source, "val acc", "accuracy", float(epsilon), k, count)
        assert found["t_star"] == first_streak(exact, Fraction(epsilon), k)
        assert found["changes"] == [None, *map(float, exact)]


@pytest.mark.parametrize("count", [0, -5])
def test_a_count_of_no_texts_is_refused(tmp_path: Path, count: int) -> None:
    with pytest.raises(UserError, match=f"`count` must be at least 1, not {count}"):
        decisions(to_csv(tmp_path / "a.csv", ACCURACIES), "val acc", "accuracy", count=count)


@pytest.mark.parametrize("signal", sorted({*SIGNALS.names()} - {"accuracy"}))
def test_only_accuracies_are_counts(tmp_path: Path, signal: str) -> None:
    with pytest.raises(UserError, match=f"`count` .* accuracies .* '{signal}'"):
        decisions(to_csv(tmp_path / "a.csv", ACCURACIES), "val acc", signal, count=100)


@pytest.mark.parametrize("signal", [name for name in SIGNALS.names() if SIGNALS.make(name).is_level])
def test_a_level_is_its_own_change(signal: str) -> None:
    assert changes_of([9.0, 3.0, 0.5], SIGNALS.make(signal)) == [None, 3.0, 0.5]


def test_other_signals_are_differences() -> None:
    assert changes_of([9.0, 3.0, 3.5], SIGNALS.make("loss")) == [None, 6.0, 0.5]


@pytest.mark.parametrize("first", ["", "inf", "nan", "-", "7"])
def test_first_row_of_a_level_signal_is_ignored(tmp_path: Path, first: str) -> None:
    found = decisions(to_csv(tmp_path / "a.csv", [first, 0.5, 0.25]), "val acc", "weight-distance", 0.6, 2)
    assert (found["changes"], found["t_star"]) == ([None, 0.5, 0.25], 3)


@pytest.mark.parametrize("write", [to_csv, to_jsonl])
@pytest.mark.parametrize("value", ["", "good", "nan", "inf", None, math.nan, math.inf, 10**400, [1]])
def test_non_numeric_value_is_named_by_its_round(
    tmp_path: Path, write: Callable[[Path, Sequence[Any]], Path], value: object
) -> None:
    name = "a.csv" if write is to_csv else "a.jsonl"
    with pytest.raises(UserError, match=rf"{name}: '.*' in column 'val acc', round 3, is not a number"):
        decisions(write(tmp_path / name, [0.5, 0.6, value]), "val acc", "accuracy")


def test_a_missing_column_gets_the_list(tmp_path: Path) -> None:
    source = to_csv(tmp_path / "a.csv", ACCURACIES)
    with pytest.raises(UserError, match=r"a.csv has no column 'acc' in round 1; it has round, val acc\."):
        decisions(source, "acc", "accuracy")
    with pytest.raises(UserError, match=r"`column` is missing: name the column of .*a.csv"):
        decisions(source, None, "accuracy")


def test_a_line_that_lacks_the_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"acc": 0.5}\n{"other": 1}\n')
    with pytest.raises(UserError, match="no column 'acc' in round 2; it has other"):
        decisions(path, "acc", "accuracy")
    path.write_text("[0.5]\n")
    with pytest.raises(UserError, match="no column 'acc' in round 1; it has no columns"):
        decisions(path, "acc", "accuracy")


def test_extra_cells_of_a_row_are_no_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("round,acc\n1,0.5,extra\n")
    with pytest.raises(UserError, match=r"no column 'loss' in round 1; it has round, acc\."):
        decisions(path, "loss", "loss")
    assert decisions(path, "acc", "accuracy")["rounds"] == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"round,acc\n", "a.csv has no rounds"),
        ("a.jsonl", b"\n\n", "a.jsonl has no rounds"),
        ("a.jsonl", b"{broken\n", "a.jsonl cannot be read as CSV or JSONL"),
        ("a.csv", b"acc\n\xff\n", "a.csv cannot be read as CSV or JSONL"),
        ("a.csv", b'acc\n"' + b"x" * 200_000 + b'"\n', r"a.csv: 'x{40}' in column 'acc', round 1, is not a number"),
    ],
)
def test_unusable_file_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        decisions(tmp_path / name, "acc", "accuracy")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no file .*none.csv"):
        decisions(tmp_path / "none.csv", "acc", "accuracy")


def test_a_byte_order_mark_is_no_part_of_the_column_s_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffacc\r\n0.5\r\n".encode())
    assert decisions(path, "acc", "accuracy")["rounds"] == 1


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", Settings("toy"), toy_task(20, 5, 5), {})


@pytest.mark.parametrize("spec", ["hybrid:accuracy", "hybrid:weight-distance", "hybrid:alpha"])
def test_run_folder_gives_the_decisions_of_the_live_run(folder: RunFolder, spec: str) -> None:
    schedule = HybridAL(spec.removeprefix("hybrid:"))
    history = fake_history(schedule.watches, seed=3)
    for record in history:
        folder.append(record)
    found = decisions(folder.path, None, schedule.signal.name)
    live = [schedule.decide(history[:t]).letter for t in range(len(history))]
    assert found["first_finetune_round"] == live.index("F") + 1
    assert found["changes"] == [record.changes[schedule.signal.name] for record in history]


def test_a_run_that_did_not_record_the_signal(folder: RunFolder) -> None:
    with pytest.raises(UserError, match="run has no recorded rounds yet"):
        decisions(folder.path, None, "alpha")
    record = fake_history((SIGNALS.make("accuracy"),), seed=1)[0]
    folder.append(record)
    with pytest.raises(
        UserError, match=r"did not record the signal 'alpha' \(it has accuracy\); run with `signals=alpha`"
    ):
        decisions(folder.path, None, "alpha")


def test_every_run_knows_its_right_answers(folder: RunFolder) -> None:
    history = fake_history((), seed=3)
    for record in history:
        folder.append(record)
    right = [record.validation.right for record in history if record.validation is not None]
    exact = [None, *(float(Fraction(abs(b - a), 100)) for a, b in pairwise(right))]
    assert decisions(folder.path, None, "accuracy")["changes"] == exact
    floats = [None, *(abs(b / 100 - a / 100) for a, b in pairwise(right))]
    assert floats != exact, "this history has no change that floats get wrong"
    folder.append(replace(history[-1], validation=None))
    with pytest.raises(UserError, match=r"did not record the signal 'accuracy' \(it has none\)"):
        decisions(folder.path, None, "accuracy")


@pytest.mark.parametrize(("column", "count"), [("acc", None), (None, 100)])
def test_options_that_a_run_folder_defines_are_refused(
    folder: RunFolder, column: str | None, count: int | None
) -> None:
    with pytest.raises(UserError, match=r"`column` and `count` are for files; .*run is a folder"):
        decisions(folder.path, column, "accuracy", count=count)


def test_a_run_that_recorded_no_signal(folder: RunFolder) -> None:
    folder.append(replace(fake_history((), seed=1)[0]))
    with pytest.raises(UserError, match=r"\(it has none\)"):
        decisions(folder.path, None, "alpha")


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        decisions(tmp_path, None, "alpha")
