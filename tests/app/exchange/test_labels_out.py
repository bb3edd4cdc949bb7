import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from hybridal.app.exchange.cells import harmless
from hybridal.app.exchange.labels import COLUMNS, labels
from hybridal.app.exchange.labels_out import FORMATS

from .projects import empty, made


@pytest.fixture
def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [*labels(made(tmp_path).reads)]


def test_jsonl_is_verbatim(lines: list[dict[str, Any]]) -> None:
    written = b"".join(FORMATS["jsonl"](lines)).decode()
    assert [json.loads(line) for line in written.split("\n")[:-1]] == lines


def test_parquet_is_verbatim(lines: list[dict[str, Any]]) -> None:
    table = parquet.read_table(io.BytesIO(b"".join(FORMATS["parquet"](lines))))
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == lines


def test_csv_is_verbatim_but_for_formulas(lines: list[dict[str, Any]]) -> None:
    written = b"".join(FORMATS["csv"](lines)).decode()
    rows = [*csv.DictReader(io.StringIO(written, newline=""))]
    assert [row["text"] for row in rows] == [harmless(line["text"]) for line in lines]
    assert rows[1]["text"].startswith("'=HYPERLINK")
    assert [json.loads(row["answers"]) for row in rows] == [line["answers"] for line in lines]
    assert [row["label"] for row in rows] == [line["label"] or "" for line in lines]


def test_without_labels_the_files_are_empty_but_whole(tmp_path: Path) -> None:
    none = [*labels(empty(tmp_path).reads)]
    assert b"".join(FORMATS["csv"](none)).decode().strip() == ",".join(COLUMNS)
    assert b"".join(FORMATS["jsonl"](none)) == b""
    assert parquet.read_table(io.BytesIO(b"".join(FORMATS["parquet"](none)))).num_rows == 0
