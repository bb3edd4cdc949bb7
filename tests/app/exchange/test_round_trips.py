"""Hostile texts, ids and labels survive import and export in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow
import pytest
from pyarrow import parquet
from sqlalchemy import select

from hybridal.app.db.schema import Text
from hybridal.app.exchange.label_studio import read_tasks
from hybridal.app.exchange.label_studio_export import export_tasks
from hybridal.app.exchange.label_studio_import import import_tasks
from hybridal.app.exchange.table_files import LABEL_FORMATS, PREDICTION_FORMATS, label_rows, prediction_rows
from hybridal.app.labelling.text_source import Source, read_source
from hybridal.app.labelling.texts import Row
from hybridal.app.project import Project
from hybridal.tasks.read import READERS

from ..made_up import consensus

pytestmark = pytest.mark.usefixtures("parquet_here")

# One line each, and no control character: what every format can say.
PLAIN = [
    "=1+1",
    "'=1",
    "-1",
    "@you",
    '"',
    "a,b;c\td",
    "\\n",
    "NULL",
    "nan",
    "007",
    "1e5",
    "<b>&amp;",
    "é",
    "e\u0301",
    "👩‍👩‍👧",
    "\u202eright",
]
LINES = ["two\nlines", "a\r\nb", "a\u2028b\x85c"]
CONTROL = ["\x1b[31mred\x07", "a\tb"]
LATIN = ["=1+1", '"', "a,b;c", "naïve café", "€ 5 – “so”"]


def delimited(delimiter: str, encoding: str) -> Callable[[Sequence[str]], bytes]:
    def write(texts: Sequence[str]) -> bytes:
        table = io.StringIO()
        csv.writer(table, delimiter=delimiter).writerows(
            [("id", "text"), *((f"={at}", text) for at, text in enumerate(texts))]
        )
        return table.getvalue().encode(encoding)

    return write


def objects(texts: Sequence[str]) -> list[dict[str, str]]:
    return [{"id": f"={at}", "text": text} for at, text in enumerate(texts)]


def excel(texts: Sequence[str]) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in ("id", "text"), *((f"={at}", text) for at, text in enumerate(texts)):
        book.active.append(row)
        for cell in book.active[book.active.max_row]:
            cell.data_type = "s"  # a text that looks like a formula is one all the same
    book.save(file)
    return file.getvalue()


def in_parquet(texts: Sequence[str]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(objects(texts)), file)
    return file.getvalue()


WAYS: list[tuple[str, Callable[[Sequence[str]], bytes], list[str]]] = [
    ("x.csv", delimited(",", "utf-8"), PLAIN + LINES + CONTROL),
    ("semicolons.csv", delimited(";", "utf-8-sig"), PLAIN + LINES + CONTROL),
    ("excel.csv", delimited("\t", "utf-16"), PLAIN + LINES + CONTROL),
    ("windows.csv", delimited(";", "cp1252"), LATIN),
    ("x.tsv", delimited("\t", "utf-8"), PLAIN + LINES + CONTROL),
    ("x.jsonl", lambda texts: "\n".join(map(json.dumps, objects(texts))).encode(), PLAIN + LINES + CONTROL),
    ("x.json", lambda texts: json.dumps(objects(texts), ensure_ascii=False).encode(), PLAIN + LINES + CONTROL),
    ("x.txt", lambda texts: "\n".join(texts).encode(), PLAIN + CONTROL),
    ("x.xlsx", excel, PLAIN + LINES[:1]),
    ("x.parquet", in_parquet, PLAIN + LINES + CONTROL),
]


def test_every_format_that_is_read_is_tried_here() -> None:
    assert {Path(name).suffix for name, *_ in WAYS} == {*READERS}


@pytest.mark.parametrize(("name", "write", "texts"), WAYS, ids=[way[0] for way in WAYS])
def test_texts_come_in_as_they_are(
    tmp_path: Path, name: str, write: Callable[[Sequence[str]], bytes], texts: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(write(texts))
    source = read_source(path, id=None if name == "x.txt" else "id")
    project = Project.create(source, tmp_path / "p")
    with project.reads() as session:
        found = session.execute(select(Text.id, Text.body).order_by(Text.row)).all()
    ids = [str(at + 1) if name == "x.txt" else f"={at}" for at in range(len(texts))]
    assert [(id, body) for id, body in found] == [*zip(ids, texts, strict=True)]
    project.close()


@pytest.fixture
def hostile(tmp_path: Path) -> Project:
    """Hostile texts, ids, labels and other columns, with predictions."""
    words = PLAIN + LINES + CONTROL
    names = ["=bug", "a,b;c", '"', "é"]
    rows = [
        Row(f"{word} {at}", word, names[at % len(names)] if at % 3 else None, {"=who": words[-at - 1], "b": word})
        for at, word in enumerate(words)
    ]
    project = Project.create(Source("hostile", rows, tuple(names)), tmp_path / "hostile")
    with project.reads() as session:
        scored = session.scalars(select(Text.row)).all()
    project.probabilities.begin({"classes": [1, 2, 3, 4]}, 4)
    project.probabilities.write(scored, np.full((len(scored), 4), 0.25), [2] * len(scored))
    return project


@pytest.mark.parametrize("kind", sorted({*LABEL_FORMATS} - {"spreadsheet.csv"}))
def test_labels_that_go_out_come_in_again(hostile: Project, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"labels.{kind}"
    path.write_bytes(b"".join(LABEL_FORMATS[kind](label_rows(hostile.reads))))
    again = Project.create(read_source(path, label="label", id="id"), tmp_path / "again")
    assert consensus(again) == consensus(hostile)
    with hostile.reads() as one, again.reads() as other:
        before = {
            text.id: (text.body, text.context) for text in one.scalars(select(Text)) if text.id in consensus(again)
        }
        after = {text.id: text for text in other.scalars(select(Text))}
    assert {id: text.body for id, text in after.items()} == {id: body for id, (body, _) in before.items()}
    for id, (_, context) in before.items():
        assert (context or {}).items() <= (after[id].context or {}).items()
    again.close()
    hostile.close()


def test_tasks_that_go_out_to_label_studio_come_in_again(hostile: Project, tmp_path: Path) -> None:
    tasks = read_tasks(json.loads(b"".join(export_tasks(hostile.reads))), None, None)
    again = Project.create(Source("again", []), tmp_path / "again")
    assert import_tasks(again.sessions, tasks).added == len(tasks)
    assert consensus(again) == consensus(hostile)
    with hostile.reads() as one, again.reads() as other:
        bodies = [dict(session.execute(select(Text.id, Text.body)).all()) for session in (one, other)]
    assert bodies[0] == bodies[1]
    again.close()
    hostile.close()


@pytest.mark.parametrize("kind", sorted({*PREDICTION_FORMATS} - {"spreadsheet.csv"}))
def test_predictions_that_go_out_name_texts_and_classes_as_they_are(hostile: Project, kind: str) -> None:
    file = b"".join(PREDICTION_FORMATS[kind](prediction_rows(hostile)))
    if kind == "parquet":
        rows = parquet.read_table(io.BytesIO(file)).to_pylist()
    else:
        rows = [*csv.DictReader(io.StringIO(file.decode(), newline=""))]
    with hostile.reads() as session:
        assert [row["id"] for row in rows] == session.scalars(select(Text.id).order_by(Text.row)).all()
    assert [name for name in rows[0] if name.startswith("p(")] == ["p(=bug)", "p(a,b;c)", 'p(")', "p(é)"]
    hostile.close()
