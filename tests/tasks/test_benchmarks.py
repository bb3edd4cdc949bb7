"""The benchmarks have the published sizes."""

from __future__ import annotations

import pytest

from hybridal.tasks.benchmarks import BENCHMARKS

TOTALS = {
    "imdb": (39_500, 500, 10_000),
    "jigsaw": (126_060, 1_596, 31_915),
    "sst2": (66_675, 674, 872),
    "tweeteval": (47_138, 477, 12_284),
    "agnews": (118_800, 1_200, 7_600),
    "yahoo": (49_500, 500, 10_000),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_class_counts_add_up_to_the_papers_totals(name: str) -> None:
    counts = BENCHMARKS[name].counts.values()
    assert tuple(sum(column) for column in zip(*counts, strict=True)) == TOTALS[name]


@pytest.mark.parametrize(
    ("name", "classes"), [("imdb", 2), ("jigsaw", 2), ("sst2", 2), ("tweeteval", 3), ("agnews", 4), ("yahoo", 10)]
)
def test_classes_are_those_of_the_paper_in_the_hubs_order(name: str, classes: int) -> None:
    assert len(BENCHMARKS[name].classes) == classes


def test_joined_fields() -> None:
    agnews, yahoo = BENCHMARKS["agnews"], BENCHMARKS["yahoo"]
    assert (agnews.fields, agnews.joint) == (("title", "description"), ". ")
    assert (yahoo.fields, yahoo.joint) == (("question_title", "best_answer"), " ")
