import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.evidence.statistics.regret import pareto

points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=25)


def by_force(cost: list[int], nll: list[int]) -> set[int]:
    def beaten(at: int) -> bool:
        return any(
            cost[by] <= cost[at] and nll[by] <= nll[at] and (cost[by] < cost[at] or nll[by] < nll[at])
            for by in range(len(cost))
        )

    return {at for at in range(len(cost)) if not beaten(at)}


@given(points)
def test_it_is_what_brute_force_finds(rows: list[tuple[int, int]]) -> None:
    cost, nll = [row[0] for row in rows], [row[1] for row in rows]
    found = pareto(cost, nll)
    assert set(found) == by_force(cost, nll)
    assert len(set(found)) == len(found)
    assert list(found) == sorted(found, key=lambda at: (cost[at], at))
    along = [nll[at] for at in found]
    assert along == sorted(along, reverse=True)


def test_degenerate() -> None:
    assert pareto([], []) == ()
    assert pareto([1], [1]) == (0,)
    assert pareto([1, 1, 1], [2, 2, 2]) == (0, 1, 2)


def test_bad_input() -> None:
    with pytest.raises(UserError, match="cost: number 1"):
        pareto([float("nan")], [1])
    with pytest.raises(UserError, match="NLL: number 1"):
        pareto([1], [float("inf")])
    with pytest.raises(UserError, match="2 costs and 1 NLLs"):
        pareto([1, 2], [1])
