"""The figures that compare signals: correlation, profiles, F1 by round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.patches import Rectangle

from hybridal.lab.paper.figures.curve_figures import signal_f1
from hybridal.lab.paper.figures.signal_figures import (
    correlation_matrix,
    parallel_signals,
    profile,
)

from .conftest import Made
from .reading import close, figure_of, heights, line, marked, points, words_of


def test_the_matrix_has_spearmans_rho(signals: Made) -> None:
    figure = figure_of(correlation_matrix(signals.fair))
    assert figure is not None
    (axes,) = figure.axes
    rounds = signals.results.rounds
    own = rounds[(rounds["schedule"] == "retrain") & (rounds["round"] > 1)]
    names = [name for name in own.columns if name.startswith("change_")]
    ranks = own[names].rank()
    rho = ranks.corr()  # Pearson's of ranks
    assert len([patch for patch in axes.patches if isinstance(patch, Rectangle)]) == 28
    texts = {(text.get_position()[0], text.get_position()[1]): text.get_text() for text in axes.texts}
    assert len(texts) == 28
    for row, first in enumerate(names):
        for column, second in enumerate(names[:row]):
            assert float(texts[column, row].replace("−", "-")) == pytest.approx(rho.loc[first, second], abs=0.0051)
    assert f"{len(own)} rounds" in axes.get_title(loc="left").replace(",", "")
    strongest = rho.where(rho < 1).abs().max().max()
    assert f"{strongest:.2f};" in words_of(correlation_matrix(signals.fair)).alt


def test_two_signals_make_no_matrix(main: Made) -> None:
    kept = [name for name in main.results.rounds.columns if not name.startswith("change_")]
    two = main.results.rounds[[*kept, "change_alpha", "change_accuracy"]]
    assert figure_of(correlation_matrix(replace(main.fair, rounds=two))) is None


def test_profiles_are_scaled_means(signals: Made) -> None:
    figure = figure_of(parallel_signals(signals.fair))
    assert figure is not None
    (axes,) = figure.axes
    runs = signals.results.runs
    means = runs.groupby("schedule")[["steps", "test_f1", "test_nll"]].mean()
    rate = runs.groupby("schedule")["t_star"].apply(lambda values: values.notna().mean())
    hybrids = [spec for spec in means.index if spec.startswith("hybrid")]
    speed = (means["steps"].max() - means["steps"]) / (means["steps"].max() - means["steps"].min())
    f1 = (means["test_f1"] - means["test_f1"].min()) / (means["test_f1"].max() - means["test_f1"].min())
    calm = (means["test_nll"].max() - means["test_nll"]) / (means["test_nll"].max() - means["test_nll"].min())
    # The rank of x among others: one more than those better, ties shared.
    places = {}
    for spec in hybrids:
        ranks = []
        for values in (rate, speed, f1, calm):
            others = values[hybrids]
            ranks.append(1 + (others > others[spec]).sum() + ((others == others[spec]).sum() - 1) / 2)
        places[spec] = sum(ranks) / 4
    worst, best = max(places.values()), min(places.values())
    for spec in hybrids:
        overall = (worst - places[spec]) / (worst - best)
        assert heights(line(axes, spec)) == pytest.approx([rate[spec], speed[spec], f1[spec], calm[spec], overall])
    for spec in ("retrain", "finetune"):
        assert close(points(line(axes, spec)), [(1, speed[spec]), (2, f1[spec]), (3, calm[spec])])
    alt = words_of(parallel_signals(signals.fair)).alt
    assert f"(mean rank {best:.1f}" in alt.partition(": ")[2].partition(",")[0]


def test_the_papers_table_gives_the_papers_order(signals: Made) -> None:
    """Table of the signal ablation: Δα and ΔAcc lead on overall rank."""
    import pandas as pd

    rows = [  # signal, F1, NLL, time, switching rate
        ("accuracy", 0.791, 0.700, 438, 93),
        ("alpha", 0.793, 0.743, 424, 97),
        ("f1", 0.791, 0.686, 445, 90),
        ("loss", 0.790, 0.574, 541, 43),
        ("nc", 0.790, 0.670, 478, 67),
        ("gradient-norm", 0.790, 0.656, 582, 40),
        ("weight-distance", 0.793, 0.522, 634, 0),
        ("cka", 0.792, 0.621, 525, 33),
    ]
    runs = pd.DataFrame(
        {
            "task": "imdb", "backbone": "distilbert", "acquisition": "entropy", "variant": "", "seed": seed,
            "schedule": f"hybrid:{name}:0.5:3", "test_f1": f1, "test_nll": nll, "steps": time,
            "t_star": 9.0 if seed < rate else None, "rounds": 25,
        }
        for name, f1, nll, time, rate in rows
        for seed in range(100)
    )  # fmt: skip
    rounds = runs[["task", "backbone", "acquisition", "variant", "seed", "schedule"]]
    table = profile(replace(signals.fair, runs=runs, rounds=rounds))
    assert table is not None
    assert table["rank"].sort_values().index[:2].tolist() == ["hybrid:alpha:0.5:3", "hybrid:accuracy:0.5:3"]
    assert table["rank"]["hybrid:alpha:0.5:3"] == (1.5 + 8 + 1 + 1) / 4


def test_f1_by_round_weighs_tasks_alike(signals: Made) -> None:
    figure = figure_of(signal_f1(signals.fair))
    assert figure is not None
    (axes,) = figure.axes
    rounds = signals.results.rounds
    specs = list(signals.results.runs["schedule"].unique())
    for spec in specs:
        own = rounds[rounds["schedule"] == spec]
        tasks = [
            own[own["task"] == task].pivot(index="round", columns="seed", values="validation_f1").mean(axis=1)
            for task in ("imdb", "agnews", "yahoo")
        ]
        assert heights(line(axes, spec)) == pytest.approx(((tasks[0] + tasks[1] + tasks[2]) / 3).to_list())
    fired = signals.results.runs.dropna(subset="t_star").groupby("schedule")["t_star"].mean()
    shown = sorted(points(star)[0][0] for star in marked(axes, "*") if star.get_label() == "switch")
    assert shown == pytest.approx(sorted(fired))
    assert f"mean t* {fired.iloc[0]:.1f}" in words_of(signal_f1(signals.fair)).alt


def test_f1_by_round_needs_three_signals(main: Made) -> None:
    assert figure_of(signal_f1(main.fair)) is None
