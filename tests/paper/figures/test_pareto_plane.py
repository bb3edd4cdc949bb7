from __future__ import annotations

from typing import Literal

import pytest

from hybridal.evidence.style import INK, MUTED
from hybridal.paper.figures.overview import pareto_plane

from .conftest import Made
from .reading import close, figure_of, points, words_of


@pytest.mark.parametrize(("cost", "column"), [("steps", "steps"), ("seconds", "training_time")])
def test_points_are_means_and_frontiers_are_unbeaten(
    main: Made, cost: Literal["steps", "seconds"], column: str
) -> None:
    figure = figure_of(pareto_plane(main.results, cost))
    assert figure is not None
    (axes,) = figure.axes
    means = main.results.runs.groupby(["schedule", "backbone"])[[column, "test_nll"]].mean()
    shown = [(str(one.get_label()), points(one)[0]) for one in axes.get_lines() if one.get_linestyle() == "None"]
    assert len(shown) == 27
    for spec in main.results.runs["schedule"].unique():
        expected = sorted((row[column], row["test_nll"]) for _, row in means.loc[spec].iterrows())
        assert close(sorted(at for label, at in shown if label == spec), expected)
    every = [at for _, at in shown]
    pooled = [at for spec, at in shown if spec != "newonly"]
    dashed, dotted = (
        points(next(one for one in axes.get_lines() if one.get_color() == colour and one.get_linestyle() == "--"))
        for colour in (INK, MUTED)
    )
    for front, all_of_them in ((dashed, every), (dotted, pooled)):
        assert front == sorted(front)
        best = [p for p in all_of_them if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in all_of_them)]
        assert set(front) == set(best)


def test_one_backbone_names_fixed_switches_beside_their_points(small: Made) -> None:
    figure = figure_of(pareto_plane(small.results))
    assert figure is not None
    said = [text.get_text() for text in figure.axes[0].texts]
    assert said == ["@3", "@5", "@7", "@10"]


def test_words_list_the_frontier_from_the_cheapest(main: Made) -> None:
    alt = words_of(pareto_plane(main.results)).alt
    assert alt.index("NewOnly on") < alt.index("Retrain on")
