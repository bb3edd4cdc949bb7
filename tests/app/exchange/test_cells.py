import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.exchange.cells import csv_lines, harmless

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "a=1", ""])
def test_nothing_begins_a_formula(cell: str) -> None:
    assert harmless(cell)[:1] not in tuple("=+-@\t\r\n＝＋－＠")
    assert harmless(cell).removeprefix("'") == cell.removeprefix("'")


@given(st.lists(st.tuples(WORDS, WORDS), max_size=20))
def test_a_csv_reader_reads_what_was_written(pairs: list[tuple[str, str]]) -> None:
    written = "".join(csv_lines(["a", "b"], ({"a": a, "b": b} for a, b in pairs)))
    read = [*csv.reader(io.StringIO(written, newline=""))]
    assert read == [["a", "b"], *([harmless(a), harmless(b)] for a, b in pairs)]


def test_long_files_come_in_parts() -> None:
    rows = ({"n": n} for n in range(1201))
    parts = [*csv_lines(["n"], rows)]
    assert len(parts) == 3
    assert "".join(parts).split() == ["n", *map(str, range(1201))]


def test_lists_are_json_and_truth_is_a_word() -> None:
    lines = "".join(csv_lines(["l", "t", "n"], [{"l": [{"x": "é"}], "t": True, "n": None}])).splitlines()
    assert lines[1] == '"[{""x"": ""é""}]",true,'
