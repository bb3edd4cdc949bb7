import csv
import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hybridal.app.errors import MissingError
from hybridal.app.exchange.predictions_out import FILE, FORMATS, predictions


def write(folder: Path, n: int) -> Path:
    columns = {"id": [f"={at}" for at in range(n)], "class": ["bug"] * n, "p(bug)": [0.25 + at for at in range(n)]}
    parquet.write_table(pa.table(columns), folder / FILE)
    return folder / FILE


def test_parquet_is_sent_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, 3)
    assert b"".join(FORMATS["parquet"](predictions(tmp_path))) == path.read_bytes()


def test_csv_has_the_same_rows(tmp_path: Path) -> None:
    write(tmp_path, 2500)
    rows = [*csv.DictReader(io.StringIO(b"".join(FORMATS["csv"](predictions(tmp_path))).decode(), newline=""))]
    assert len(rows) == 2500
    assert rows[7] == {"id": "'=7", "class": "bug", "p(bug)": "7.25"}


def test_newer_predictions_do_not_disturb_who_is_reading(tmp_path: Path) -> None:
    first = write(tmp_path, 3).read_bytes()
    file = predictions(tmp_path)
    write(tmp_path / "..", 5).replace(tmp_path / FILE)
    assert b"".join(FORMATS["parquet"](file)) == first


def test_before_the_first_predictions_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="Score all texts"):
        predictions(tmp_path)
