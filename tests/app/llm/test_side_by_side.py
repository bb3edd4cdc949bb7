import threading

from hybridal.app.llm.side_by_side import side_by_side


def test_calls_run_at_the_same_time_and_come_back_in_order() -> None:
    all_here = threading.Barrier(3)

    def call(n: int) -> int:
        all_here.wait(10)
        return n * n

    assert list(side_by_side(call, [3, 1, 2])) == [(3, 9), (1, 1), (2, 4)]


def test_one_error_leaves_the_others_their_results() -> None:
    def call(n: int) -> int:
        if n == 1:
            raise ValueError("one")
        return n

    results = dict(side_by_side(call, [0, 1, 2]))
    assert isinstance(results.pop(1), ValueError)
    assert results == {0: 0, 2: 2}
    assert list(side_by_side(call, [])) == []
