from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.system.scratch import scratch
from hybridal.tasks.answers import Decisions, names_of
from hybridal.tasks.from_files import load_files
from hybridal.tasks.label_cells import has_several, json_list, read_cell, read_indicators, write_cell
from hybridal.tasks.task import Task

pytestmark = pytest.mark.usefixtures("parquet_here")

# What people name classes: separators, quotes, brackets and numbers included.
NAME = st.text(st.sampled_from('ab[]",; 1\u00e9|'), min_size=1, max_size=4).map(str.strip).filter(bool)
SETS = st.frozensets(NAME, max_size=4)
NOTHING_HELD: dict[str, Any] = {"validation_size": 0, "test_size": 0}
ANSWERS = [{"sport"}, {"food", "fun; games"}, set(), None, {"food"}] * 12
CLASSES = ("food", "fun; games", "sport")
TEXTS = [f"text {row}" for row in range(len(ANSWERS))]


@given(SETS)
def test_written_labels_are_read_back(answer: frozenset[str]) -> None:
    assert read_cell(write_cell(answer)) == answer
    assert read_cell(write_cell(answer), ";") == answer


@given(SETS.filter(bool), st.sampled_from([";", "|", ", "]))
def test_names_with_a_separator_between_them(answer: frozenset[str], separator: str) -> None:
    names = {name for name in answer if separator.strip() not in name and json_list(name) is None}
    if names and json_list(cell := separator.join(sorted(names))) is None:
        assert read_cell(cell, separator) == frozenset(names)


@pytest.mark.parametrize(
    "cell", ["sport", "[sport]", '["sport"', '["a", null]', '["a", ["b"]]', '[""]', "{}", "[" * 9999]
)
def test_other_cells_are_one_name(cell: str) -> None:
    assert read_cell(cell) == frozenset([cell])


def test_a_row_of_indicators() -> None:
    assert read_indicators({"a": "1", "b": " 0", "c": True, "d": 1.0}, "row 1") == frozenset("acd")
    assert read_indicators({"a": "false", "b": 0}, "row 1") == frozenset()
    assert read_indicators({"a": "", "b": float("nan"), "c": None}, "row 1") is None
    with pytest.raises(UserError, match="row 1, column 'b': the cell is empty, others of the row are not; write 0 or"):
        read_indicators({"a": "1", "b": ""}, "row 1")
    with pytest.raises(UserError, match="row 1, column 'a': 'x' is neither 0 nor 1"):
        read_indicators({"a": "x", "b": 0}, "row 1")


def test_inferred_options_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    assert has_several([frozenset("ab"), None, "c"], None, "mail", told.append)
    assert has_several(['["a"]', "[]"], None, "mail", told.append)
    assert has_several([frozenset("a"), frozenset("b")], None, "mail", told.append)
    assert not has_several(['["a"]', "b"], None, "mail", told.append)
    assert not has_several([None], None, "mail", told.append)
    assert has_several([None], True, "mail", told.append)
    assert told == [
        "mail: as its labels are written, a text may have several classes or none.",
        "mail: as its labels are written, a text may have several classes or none.",
        "mail: as its labels are written, a text may have several classes or none, although each has one so far; if "
        "every text has exactly one, write labels without lists and name no separator.",
    ]
    assert has_several([frozenset("a"), frozenset("b")], None, "mail")
    assert "although each has one so far" in caplog.text


def test_every_way_to_write_labels_gives_the_same_task(tmp_path: Path) -> None:
    lists = [None if answer is None else sorted(answer) for answer in ANSWERS]
    cells = ["" if answer is None else write_cell(frozenset(answer)) for answer in ANSWERS]
    split = ["" if answer is None else " | ".join(answer) or "[]" for answer in lists]
    matrix = [[None if answer is None else float(name in answer) for name in CLASSES] for answer in ANSWERS]
    flags = ["" if answer is None else "1" for answer in ANSWERS]
    columns = {
        name: [flag and str(int(name in (answer or ()))) for flag, answer in zip(flags, ANSWERS, strict=True)]
        for name in CLASSES
    }
    table: dict[str, Sequence[Any]] = {"text": TEXTS, "cells": cells, "split": split, **columns}
    records = [{"text": text, "label": answer} for text, answer in zip(TEXTS, lists, strict=True)]
    write_table(tmp_path / "t.csv", table, ",")
    write_table(tmp_path / "t.tsv", table, "\t")
    write_sheet(tmp_path / "t.xlsx", table)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "t.json").write_text(json.dumps(records))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "t.parquet")
    frame = pd.DataFrame({"text": TEXTS, "label": pd.Series(lists, dtype=object)})
    wide = pd.DataFrame(matrix, columns=[*CLASSES]).assign(text=TEXTS)

    tasks = [
        Task.from_texts(TEXTS, [*ANSWERS], name="t", **NOTHING_HELD),
        Task.from_texts(TEXTS, lists, name="t", **NOTHING_HELD),
        Task.from_texts(TEXTS, split, name="t", label_separator="|", **NOTHING_HELD),
        Task.from_texts(TEXTS, cells, name="t", **NOTHING_HELD),
        Task.from_texts(TEXTS, np.array(matrix), classes=CLASSES, name="t", **NOTHING_HELD),
        Task.from_pandas(frame, label="label", name="t", **NOTHING_HELD),
        Task.from_pandas(pyarrow.Table.from_pylist(records), label="label", name="t", **NOTHING_HELD),
        Task.from_pandas(wide, labels=CLASSES, name="t", **NOTHING_HELD),
    ]
    assert [task.answers(task.train.ids) for task in tasks] == [tasks[0].answers(tasks[0].train.ids)] * len(tasks)
    assert tasks[0].answers(["1", "2", "3"]) == {"1": frozenset(["food", "fun; games"]), "2": frozenset()}

    read = [
        *(load_files(tmp_path / name, label="cells", **NOTHING_HELD) for name in ("t.csv", "t.tsv", "t.xlsx")),
        *(load_files(tmp_path / name, label="label", **NOTHING_HELD) for name in ("t.jsonl", "t.json", "t.parquet")),
        load_files(tmp_path / "t.csv", label="split", label_separator="|", **NOTHING_HELD),
        *(load_files(tmp_path / name, labels=CLASSES, **NOTHING_HELD) for name in ("t.csv", "t.xlsx")),
    ]
    assert [task.classes for task in (*tasks, *read)] == [CLASSES] * (len(tasks) + len(read))
    assert {task.fingerprint for task in read} == {read[0].fingerprint}
    assert read[0].answers(["2", "3", "4"]) == {"2": frozenset(["food", "fun; games"]), "3": frozenset()}


def write_table(path: Path, table: dict[str, Sequence[Any]], delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


def write_sheet(path: Path, table: dict[str, Sequence[Any]]) -> None:
    book = openpyxl.Workbook()
    book.active.append([*table])
    for row in zip(*table.values(), strict=True):
        book.active.append([*row])
    book.save(path)


@given(st.dictionaries(st.text(min_size=1), st.booleans(), min_size=1))
def test_decisions_are_read_back(decisions: dict[str, bool]) -> None:
    answer = Decisions.of(decisions)
    assert read_cell(write_cell(answer)) == answer
    assert has_several([write_cell(answer)], None, "mail")
    assert sorted(names_of([answer])) == sorted(decisions)


@given(st.lists(st.none() | SETS | st.dictionaries(NAME, st.booleans(), min_size=1).map(Decisions.of), min_size=1))
def test_decisions_on_some_classes_are_read_from_every_source(answers: list[frozenset[str] | Decisions | None]) -> None:
    texts = [f"text {row}" for row in range(len(answers) + 2)]
    given: list[Any] = [answer.by_class() if isinstance(answer, Decisions) else answer for answer in answers]
    given += [sorted(found := {"x", *names_of(answers)}), None]
    plain = [sorted(answer) if isinstance(answer, frozenset) else answer for answer in given]
    cells = ["" if one is None else write_cell(Decisions.of(one) if isinstance(one, dict) else one) for one in given]
    with scratch() as folder:
        records = [{"text": text, "label": answer} for text, answer in zip(texts, plain, strict=True)]
        (folder / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        write_table(folder / "t.csv", {"text": texts, "label": cells}, ",")
        options: dict[str, Any] = {"classes": sorted({*found, "y"}), **NOTHING_HELD}
        tasks = [
            Task.from_texts(texts, given, **options),
            Task.from_pandas(
                pd.DataFrame({"text": texts, "label": pd.Series(given, dtype=object)}), label="label", **options
            ),
            *(Task.from_file(folder / name, label="label", **options) for name in ("t.jsonl", "t.csv")),
        ]
    for task in tasks:
        whole = task.answers(task.train.ids)
        assert [whole.get(id) for id in task.train.ids] == [*answers, frozenset(found), None]


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ({"a": 1}, "is no label; give true or false for each class"),
        ({}, "needs a name for each class"),
        ({" ": True}, "needs a name for each class"),
        ({"a": True, "a ": False}, "needs a name for each class"),
    ],
)
def test_objects_that_are_no_decisions(tmp_path: Path, label: object, sentence: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"text": "x", "label": label}))
    with pytest.raises(UserError, match=sentence):
        load_files(path, label="label", **NOTHING_HELD)


@pytest.mark.parametrize("label", [{"a": 1}, {}, {"": True}, {"a": None}])
def test_dicts_that_are_no_decisions(label: object) -> None:
    with pytest.raises(UserError, match="labels: number 0 is"):
        Task.from_texts(["x"], [label], **NOTHING_HELD)
