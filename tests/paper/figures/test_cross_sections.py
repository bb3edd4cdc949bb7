from __future__ import annotations

import pytest

from hybridal.paper.figures.choices import cross_sections, tuned_signals

from .conftest import Made
from .reading import close, figure_of, line, marked, points, words_of

EPSILONS = {"alpha": [5e-5, 1e-4, 1.5e-4, 2e-4], "accuracy": [5e-3, 1e-2, 1.5e-2, 2e-2]}


@pytest.mark.parametrize("signal", EPSILONS)
def test_lines_are_the_grid_and_the_star_the_rules_choice(tuning: Made, signal: str) -> None:
    figure = figure_of(cross_sections(tuning.results, signal))
    assert figure is not None
    runs = tuning.results.runs
    columns = ("validation_f1", "validation_nll", "steps")
    means = {
        (epsilon, k): [
            float(runs.loc[runs["schedule"] == f"hybrid:{signal}:{epsilon!r}:{k}", column].mean()) for column in columns
        ]
        for epsilon in EPSILONS[signal]
        for k in (2, 3, 5, 7)
    }
    assert runs["schedule"].value_counts().unique().tolist() == [6]
    top = max(f1 for f1, _, _ in means.values())
    kept = {pair: values for pair, values in means.items() if values[0] >= 0.995 * top}
    nll, cost = min(v[1] for v in kept.values()), min(v[2] for v in kept.values())
    best = min(kept, key=lambda pair: kept[pair][2] / cost + 0.5 * kept[pair][1] / nll)
    for panel, axes in enumerate(figure.axes):
        for k in (2, 3, 5, 7):
            expected = [(epsilon, means[epsilon, k][panel]) for epsilon in EPSILONS[signal]]
            assert close(points(line(axes, str(k))), expected)
        (star,) = marked(axes, "*")
        assert close(points(star), [(best[0], means[best][panel])])
    assert f"Chosen: ε = {best[0]:.4g}, k = {best[1]} with" in words_of(cross_sections(tuning.results, signal)).alt


def test_only_grids_are_drawn(main: Made, tuning: Made) -> None:
    assert tuned_signals(tuning.results) == ["alpha", "accuracy"]
    assert tuned_signals(main.results) == []
    assert figure_of(cross_sections(main.results)) is None
    assert figure_of(cross_sections(tuning.results, "loss")) is None
