from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.annotators.llm.llm_budget import Budget
from hybridal.annotators.llm.prompt import ANSWER_TOKENS

ASKED = [{"role": "user", "content": "x" * 1000}]


def test_request_beyond_the_budget_is_not_sent() -> None:
    dear = 500 + ANSWER_TOKENS
    assert Budget(dear).reserve(ASKED) == dear
    assert Budget(dear - 1).reserve(ASKED) is None
    assert Budget(2 * dear, spent=dear + 1).reserve(ASKED) is None


def test_reserved_tokens_reduce_the_budget() -> None:
    budget = Budget(1600)
    first = budget.reserve(ASKED)
    assert first == 800
    assert budget.reserve(ASKED) == 800
    assert budget.reserve(ASKED) is None
    budget.release(first)
    assert budget.reserve(ASKED) == 800


def test_missing_token_counts_cost_the_reserved_tokens() -> None:
    budget = Budget(2000)
    reserved = budget.reserve(ASKED)
    assert reserved is not None
    assert budget.pay(reserved, ASKED, None) == reserved == budget.spent


def test_the_dearest_question_so_far_is_the_measure() -> None:
    budget = Budget(10_000)
    for tokens, then in ((250, 250), (200, 250), (400, 400)):
        budget.pay(budget.reserve(ASKED) or 0, ASKED, tokens)
        reserved = budget.reserve(ASKED)
        assert reserved == then + ANSWER_TOKENS
        budget.release(reserved)


@given(st.lists(st.integers(1, 700), max_size=30), st.integers(0, 5000))
def test_a_server_that_keeps_to_the_estimate_never_goes_beyond_the_limit(prices: list[int], limit: int) -> None:
    budget = Budget(limit)
    for price in prices:
        reserved = budget.reserve(ASKED)
        if reserved is not None:
            budget.pay(reserved, ASKED, min(price, reserved))
    assert budget.spent <= limit
