from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hybridal.errors import UserError
from hybridal.tasks import parquet_files, parquet_reader
from hybridal.tasks.parquet_files import read_parquet
from hybridal.tasks.table import joined


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mail.parquet"
    kinds = pyarrow.array(["ham", None, "spam"]).dictionary_encode()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b\0c", "d"], "kind": kinds, "n": [1.0, None, 3.0]}), path)
    return path


def test_columns_of_any_type(path: Path) -> None:
    table = joined(read_parquet(path, ["n", "text", "kind"]))
    assert table.columns == {"n": [1.0, None, 3.0], "text": ["a", "b\0c", "d"], "kind": ["ham", None, "spam"]}
    assert table.at(2) == f"{path}, row 3"


@pytest.mark.parametrize("keep", [3, 0.5])
def test_a_truncated_file(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(keep if keep > 1 else len(data) * keep)])
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole Parquet file \(.+\); copy"):
        joined(read_parquet(path, ["text"]))


def test_parquet_file_damaged_in_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole Parquet file"):
        joined(read_parquet(path, ["text"]))


def test_a_missing_column(path: Path) -> None:
    with pytest.raises(UserError, match=r"no column 'label'; its columns are text, kind, n"):
        joined(read_parquet(path, ["text", "label"]))


def test_a_string_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "mail.parquet"
    raw = pyarrow.array([b"fine", b"caf\xe9"])
    strings = pyarrow.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    pyarrow.parquet.write_table(pyarrow.table({"text": strings}), path)
    with pytest.raises(UserError, match=r"mail\.parquet, row 2, column 'text': not valid UTF-8"):
        joined(read_parquet(path, ["text"]))


@pytest.mark.parametrize("as_dictionary", [True, False])
def test_a_parquet_file_of_a_few_bytes_does_not_fill_the_memory(
    as_dictionary: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 5000, pyarrow.int32()), pyarrow.array(["a" * 1000]))
    column = long if as_dictionary else long.dictionary_decode()
    path = tmp_path / "bomb.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), path)
    assert path.stat().st_size < 10_000
    assert sum(len(table.places) for table in read_parquet(path, ["text"])) == 5000
    monkeypatch.setattr(parquet_files, "SUSPICIOUS", 3_000_000)
    with pytest.raises(
        UserError, match=r"bomb\.parquet: .* too large .* unpacks to more than 3 MB\); save it as \.csv"
    ):
        next(read_parquet(path, ["text"]))


def test_one_value_for_all_rows_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 bytes, of which one batch would take 4 GB: the limit is that of the process, not of what it sends."""
    values = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 4096, pyarrow.int32()), ["a" * 1_000_000])
    path = tmp_path / "bomb.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": values}), path, compression="zstd")
    assert path.stat().st_size < 2000
    monkeypatch.setattr(parquet_reader, "MEMORY", 1 << 30)
    with pytest.raises(
        UserError, match=r"bomb\.parquet: .* too large .* rows take more than .* of memory\); save it as"
    ):
        joined(read_parquet(path, ["text"]))


SHARED = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (SHARED, "a" * 1000),
        (pyarrow.string_view(), "a" * 1000),
        (pyarrow.list_(SHARED), ["a" * 1000]),
        (pyarrow.struct([("a", SHARED)]), {"a": "a" * 1000}),
        (pyarrow.map_(pyarrow.string(), SHARED), [("a", "a" * 1000)]),
        (pyarrow.list_(pyarrow.int8()), [None] * 100),  # takes a byte each in Arrow
    ],
    ids=lambda given: str(given)[:20],
)
def test_values_that_share_memory_are_measured_as_python_holds_them(
    kind: pyarrow.DataType, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array([value] * 1000, kind)}), path)
    monkeypatch.setattr(parquet_files, "SUSPICIOUS_RATIO", 0)
    assert joined(read_parquet(path, ["text"])).columns["text"] == [value] * 1000
    monkeypatch.setattr(parquet_files, "SUSPICIOUS", 1_000_000)
    with pytest.raises(UserError, match="unpacks to more than 1 MB"):
        next(read_parquet(path, ["text"]))


def test_unusual_nested_types_are_refused_by_name(tmp_path: Path) -> None:
    rows = pyarrow.array([["a"]], pyarrow.list_view(pyarrow.string()))
    pyarrow.parquet.write_table(pyarrow.table({"text": rows}), tmp_path / "mail.parquet")
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole .* type list_view<.*>, which is not read\); copy"):
        joined(read_parquet(tmp_path / "mail.parquet", ["text"]))


def test_library_that_aborts_ends_only_its_own_process(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow 26 aborts where a column of an opaque type stands for a dictionary."""
    (tmp_path / "aborts.py").write_text("import os; os.abort()")
    monkeypatch.setattr(parquet_reader, "__file__", str(tmp_path / "aborts.py"))
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole Parquet file, or one that takes more than 600"):
        joined(read_parquet(path, ["text"]))
    code = f"import sys; sys.stdout.write('[\"text\"]\\n'); sys.stdout.flush(); {(tmp_path / 'aborts.py').read_text()}"
    (tmp_path / "aborts.py").write_text(code)
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole Parquet file, or one that takes more than 600"):
        joined(read_parquet(path, ["text"]))


def test_extension_types_keep_their_values(tmp_path: Path) -> None:
    id = b"0123456789abcdef"
    ids = pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), pyarrow.array([id], pyarrow.binary(16)))
    pyarrow.parquet.write_table(pyarrow.table({"id": ids}), tmp_path / "mail.parquet")
    [table] = read_parquet(tmp_path / "mail.parquet", ["id"])
    assert table.columns["id"][0].bytes == id
