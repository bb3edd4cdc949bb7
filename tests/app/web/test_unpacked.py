from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hybridal.app.errors import TooLargeError
from hybridal.app.web import unpacked
from hybridal.app.web.unpacked import insist


def sheet(folder: Path, **columns: Any) -> Path:
    path = folder / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    return path


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary()])
def test_a_small_file_that_is_large_inside_is_refused(
    tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sheet(tmp_path, text=pyarrow.array([b"x" * 1000] * 600, kind), n=[*range(600)])
    insist(path, 1000)
    monkeypatch.setattr(unpacked, "MOST_BYTES", 599_999)
    assert path.stat().st_size < 10_000
    with pytest.raises(TooLargeError, match="600 rows and at least 600000 bytes"):
        insist(path, 1000)


def test_more_rows_than_are_taken_are_refused_unread(tmp_path: Path) -> None:
    path = sheet(tmp_path, n=[0] * 1001)
    with pytest.raises(TooLargeError, match="1001 rows"):
        insist(path, 1000)
    insist(path, 1001)


def test_columns_of_any_kind_are_welcome(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"n": [1, 2, None], "text": ["a", None, "b"], "many": [["a"], [], None], "b": [b"x"] * 3}
    insist(sheet(tmp_path, **columns), 3)


def test_what_is_no_parquet_file_is_left_to_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text")
    insist(path, 1)
