from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybridal.core.pool import Pool
from hybridal.loop.loop import State
from hybridal.runs import checkpoint
from hybridal.runs.labels import labels_csv
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.tasks.task import Split, Task

HOSTILE = [
    'say "hi", then go',
    "two\nlines",
    "carriage\rreturn",
    "both\r\n",
    "",
    "é🦊",
    "=1+1",
    " spaces ",
    "not labelled",
]
TASK = Task(
    "mail",
    ("ham, fresh", "spam"),
    Split([f"id,{i}" for i in range(len(HOSTILE))], HOSTILE, np.zeros(len(HOSTILE), dtype=np.int64)),
    Split.empty(),
    Split.empty(),
)


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_labels_lie_in_the_order_they_were_acquired_and_any_text_survives(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("mail"), TASK, {})
    given = {6: 0, 2: 1, 0: 1, 5: 0, 1: 1, 3: 0, 4: 0, 7: 1}
    checkpoint.save(folder.checkpoint, State(0, "", Pool.unlabelled(len(HOSTILE)).reveal(given)), None)
    assert rows(labels_csv(folder)) == [
        ["id", "label", "text"],
        *([f"id,{row}", TASK.classes[label], HOSTILE[row]] for row, label in given.items()),
    ]


def test_what_waits_for_its_label_is_not_in_the_table(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("mail"), TASK, {})
    pool = Pool.unlabelled(len(HOSTILE)).reveal({4: 1}).choose(np.array([1, 2]))
    checkpoint.save(folder.checkpoint, State(0, "", pool), None)
    assert [row[0] for row in rows(labels_csv(folder))] == ["id", "id,4"]


def test_a_run_that_has_not_begun_has_no_labels(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("mail"), replace(TASK), {})
    assert rows(labels_csv(folder)) == [["id", "label", "text"]]
