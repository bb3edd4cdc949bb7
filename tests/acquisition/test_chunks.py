from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.acquisition._chunks import NUMBERS, chunks


@given(st.integers(0, 5000), st.integers(0, 10 * NUMBERS))
def test_all_rows_are_covered_once_within_the_limit(count: int, per_row: int) -> None:
    rows = list(range(count))
    pieces = [rows[some] for some in chunks(count, per_row)]
    assert [row for piece in pieces for row in piece] == rows
    assert all(len(piece) == 1 or len(piece) * per_row <= NUMBERS for piece in pieces)
