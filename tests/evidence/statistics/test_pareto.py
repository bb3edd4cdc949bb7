import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.evidence.statistics.pareto import pareto

points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 3)), max_size=25)


def by_force(cost: list[int], nll: list[int], allowed: list[int]) -> set[int]:
    def beaten(at: int) -> bool:
        return any(
            cost[by] <= cost[at] and nll[by] <= nll[at] and (cost[by] < cost[at] or nll[by] < nll[at]) for by in allowed
        )

    return {at for at in allowed if not beaten(at)}


@given(points)
def test_it_is_what_brute_force_finds(rows: list[tuple[int, int, int]]) -> None:
    cost, nll = [row[0] for row in rows], [row[1] for row in rows]
    found = pareto(cost, nll)
    assert set(found) == by_force(cost, nll, list(range(len(rows))))
    assert len(set(found)) == len(found)
    assert list(found) == sorted(found, key=lambda at: (cost[at], at))
    along = [nll[at] for at in found]
    assert along == sorted(along, reverse=True)


@given(points, st.integers(0, 3))
def test_points_below_the_bound_neither_enter_nor_dominate(rows: list[tuple[int, int, int]], bound: int) -> None:
    cost, nll, f1 = ([row[part] for row in rows] for part in range(3))
    allowed = [at for at, quality in enumerate(f1) if quality >= bound]
    assert set(pareto(cost, nll, f1, bound)) == by_force(cost, nll, allowed)


def test_degenerate() -> None:
    assert pareto([], []) == ()
    assert pareto([1], [1]) == (0,)
    assert pareto([1, 1, 1], [2, 2, 2]) == (0, 1, 2)
    assert pareto([1, 2], [1, 2], [0.5, 0.5], 0.9) == ()


def test_bad_input() -> None:
    with pytest.raises(UserError, match="cost: number 1"):
        pareto([float("nan")], [1])
    with pytest.raises(UserError, match="NLL: number 1"):
        pareto([1], [float("inf")])
    with pytest.raises(UserError, match="2 costs and 1 NLLs"):
        pareto([1, 2], [1])
    with pytest.raises(UserError, match="needs the F1"):
        pareto([1], [1], least_f1=0.5)
    with pytest.raises(UserError, match="1 costs and 2 F1s"):
        pareto([1], [1], [0.5, 0.5], 0.5)
    with pytest.raises(UserError, match="the least F1"):
        pareto([1], [1], [0.5], float("nan"))
