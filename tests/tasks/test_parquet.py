from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from hybridal.errors import UserError
from hybridal.tasks.parquet import read_parquet
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


def test_damage_in_the_middle(path: Path) -> None:
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
