from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.web.schemas import EXCERPT_LENGTH, excerpt


@given(st.text(max_size=3), st.integers(0, 2 * EXCERPT_LENGTH))
def test_a_list_shows_the_beginning_and_says_where_it_is_cut(body: str, times: int) -> None:
    whole = body * times
    shown = excerpt(whole)
    assert len(shown) <= EXCERPT_LENGTH + 2
    assert (shown == whole) if len(whole) <= EXCERPT_LENGTH else (whole.startswith(shown[:-2]) and shown.endswith(" …"))
