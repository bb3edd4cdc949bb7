import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hybridal.lab.statistics.regret import Outcome, optimum, pareto, regret

OUTCOMES = [Outcome(60, 0.7, 0.80), Outcome(70, 0.6, 0.82), Outcome(85, 0.5, 0.83), Outcome(100, 0.4, 0.83)]
outcomes = st.lists(
    st.builds(
        Outcome,
        st.integers(1, 40).map(float),
        st.integers(1, 20).map(lambda n: n / 10),
        st.integers(0, 20).map(lambda n: n / 20),
    ),
    min_size=2,
    max_size=12,
)


@given(outcomes, st.integers(0, 20).map(lambda n: n / 10), st.integers(0, 4).map(lambda n: n / 20))
def test_the_optimum_is_the_least_of_all_that_are_allowed(every: list[Outcome], lam: float, delta: float) -> None:
    best = optimum(every, lam, delta)
    bound = max(every[0].f1, every[-1].f1) - delta
    value = {s: one.cost / every[-1].cost + lam * one.nll / every[-1].nll for s, one in enumerate(every, start=1)}
    allowed = [s for s in value if every[s - 1].f1 >= bound - 1e-9]
    assert best.feasible == tuple(allowed)
    assert best.least_f1 == pytest.approx(bound)
    assert best.objectives == pytest.approx(list(value.values()))
    least = min(value[s] for s in allowed)
    assert best.ties == tuple(s for s in allowed if value[s] <= least + 1e-9)
    assert best.switch == min(best.ties, key=lambda s: (every[s - 1].cost, s))


@given(outcomes, st.floats(0, 2), st.floats(0, 0.2))
def test_no_feasible_switch_beats_the_optimum(every: list[Outcome], lam: float, delta: float) -> None:
    best = optimum(every, lam, delta)
    for s in range(1, len(every) + 1):
        found = regret(every, s, best)
        assert found.feasible == (found.shortfall == 0)
        assert not found.feasible or found.regret >= 0
        assert found.shortfall >= 0
        assert (s in best.ties) == (found.rounds_off == 0)
    assert regret(every, best.switch, best).regret == 0


@given(outcomes, st.floats(0, 2))
def test_a_wider_tolerance_is_never_worse(every: list[Outcome], lam: float) -> None:
    narrow, wide = optimum(every, lam, 0.0), optimum(every, lam, 0.2)
    assert set(narrow.feasible) <= set(wide.feasible)
    assert wide.objectives[wide.switch - 1] <= narrow.objectives[narrow.switch - 1]


@given(outcomes, st.floats(0.1, 50))
def test_the_unit_of_cost_does_not_matter(every: list[Outcome], unit: float) -> None:
    scaled = [Outcome(one.cost * unit, one.nll, one.f1) for one in every]
    one, other = optimum(every), optimum(scaled)
    assert one.objectives == pytest.approx(other.objectives)
    assume(len(one.ties) == 1)
    assert one.switch == other.switch


def test_lambda_moves_it_from_cheap_to_calm() -> None:
    assert optimum(OUTCOMES, lam=0, delta=0.1).switch == 1
    assert optimum(OUTCOMES, lam=10, delta=0.1).switch == 4


def test_infeasible_switch_with_lower_cost_is_marked() -> None:
    best = optimum(OUTCOMES, lam=0.04, delta=0.01)
    found = regret(OUTCOMES, 1, best)
    assert best.switch == 2
    assert (found.feasible, found.rounds_off) == (False, -1)
    assert found.regret == pytest.approx(-0.09)
    assert found.shortfall == pytest.approx(0.02)


def test_rounding_excludes_no_feasible_switch() -> None:
    every = [Outcome(1, 1, 0.7), Outcome(1, 1, 0.8)]
    assert optimum(every, delta=0.1).feasible == (1, 2)
    assert not 0.7 >= 0.8 - 0.1


def test_shortfall_of_an_infeasible_switch_is_positive() -> None:
    every = [Outcome(1, 0.1, 0.65), Outcome(1, 0.1, 0.85)]
    for delta in (0.2, math.nextafter(0.2, 0), 0.2 - 1e-15):
        found = regret(every, 1, optimum(every, 0.0, delta))
        assert found.feasible == (found.shortfall == 0)
        assert found.shortfall >= 0
    assert regret(every, 1, optimum(every, 0.0, 0.2 - 1e-15)).shortfall > 0


points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=25)


def by_force(cost: list[int], nll: list[int]) -> set[int]:
    def beaten(at: int) -> bool:
        return any(
            cost[by] <= cost[at] and nll[by] <= nll[at] and (cost[by] < cost[at] or nll[by] < nll[at])
            for by in range(len(cost))
        )

    return {at for at in range(len(cost)) if not beaten(at)}


@given(points)
def test_pareto_front_equals_brute_force(rows: list[tuple[int, int]]) -> None:
    cost, nll = [row[0] for row in rows], [row[1] for row in rows]
    found = pareto(cost, nll)
    assert set(found) == by_force(cost, nll)
    assert len(set(found)) == len(found)
    assert list(found) == sorted(found, key=lambda at: (cost[at], at))
    along = [nll[at] for at in found]
    assert along == sorted(along, reverse=True)


def test_pareto_front_of_degenerate_input() -> None:
    assert pareto([], []) == ()
    assert pareto([1], [1]) == (0,)
    assert pareto([1, 1, 1], [2, 2, 2]) == (0, 1, 2)
