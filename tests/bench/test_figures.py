from __future__ import annotations

from typing import Any

import pytest

from bench.figures import OURS, SMALL_TEXT, TRAINER, comparison, figure, growth_figures


def turn(task: str, round: float, rest: float, score: float, scored: int) -> dict[str, Any]:
    return {"task": task, "seconds": {"round": round, "rest": rest, "score": score}, "scored": scored}


def answer(*turns: dict[str, Any], megabytes: float = 100.0) -> dict[str, Any]:
    return {"turns": list(turns), "megabytes": megabytes}


def two_repeats() -> dict[str, list[dict[str, Any]]]:
    """In the second repeat everything takes twice as long: the ratios stay."""
    return {
        OURS: [answer(turn("tweets", 2 * n, n / 2, n, 100), turn("questions", n, n / 2, n / 2, 100)) for n in (1, 2)],
        TRAINER: [
            answer(turn("tweets", 5 * n, 2 * n, 2 * n, 100), turn("questions", 4 * n, n, 2 * n, 100)) for n in (1, 2)
        ],
        SMALL_TEXT: [
            answer(turn("tweets", 8 * n, n, 6 * n, 150), turn("questions", 3 * n, n, 2 * n, 150), megabytes=300)
            for n in (1, 2)
        ],
    }


def test_noise_in_a_whole_repeat_does_not_change_its_ratios() -> None:
    _, figures = comparison(two_repeats())
    times = next(f for f in figures if f["name"] == "tweets/round_vs_small_text")
    assert (times["value"], times["low"], times["high"]) == (4.0, 4.0, 4.0)


def test_the_reported_ratio_is_the_lowest_over_tasks() -> None:
    ratios, _ = comparison(two_repeats())
    assert ratios["round_vs_small_text"] == 3.0
    assert ratios["round_vs_trainer"] == 2.5


def test_work_leaves_the_rest_of_a_round_out() -> None:
    ratios, _ = comparison(two_repeats())
    assert ratios["work_vs_trainer"] == 2.0  # (5 - 2) / (2 - 0.5)


def test_scoring_is_compared_text_by_text() -> None:
    ratios, _ = comparison(two_repeats())
    # 100 texts in 0.5 seconds of ours, 150 in 2 of theirs; on tweets it is 4.
    assert ratios["score_vs_small_text"] == pytest.approx(200 / 75, rel=1e-3)


def test_figures_hold_the_median_and_the_spread_of_seconds() -> None:
    _, figures = comparison(two_repeats())
    found = {f["name"]: f for f in figures}
    assert (found["tweets/hybridal/round"]["value"], found["tweets/hybridal/round"]["high"]) == (3.0, 4.0)
    assert found["memory/small-text"]["value"] == 300


def test_a_figure_of_one_sample_has_no_spread() -> None:
    alone = figure("x", "s", [1.23456])
    assert alone["value"] == alone["low"] == alone["high"] == 1.235


def test_growth_is_named_by_its_size() -> None:
    seconds = {"score": 1.0, "select": 0.1, "round": 1.5, "train": 0.2}
    pools = {1000: {"turns": [[seconds]], "tokenise": 0.3, "megabytes": 50.0}}
    found = {f["name"]: f["value"] for f in growth_figures(pools, {100: [seconds, seconds]})}
    assert found["pool/1000/tokenise"] == 0.3
    assert found["pool/1000/memory"] == 50.0
    assert found["labels/100/train"] == 0.2
