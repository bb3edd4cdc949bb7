"""The figures of the paper's claims: final scores against cost, and how far signals are from stabilising."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.best_chance import RULES, title
from bench.claims import ACCURACY, ALPHA, FINETUNE, FIXED, RETRAIN, SCHEDULES, has, name, pairs
from bench.round_records import Cell
from bench.settling import changes, fired, rule_of, rules_of, whose
from bench.tables import bounds
from hybridal.reports.display_names import style_of
from hybridal.reports.figure_kit import DASHED
from hybridal.reports.figure_style import GRID, INK, MUTED, new_figure, styled
from hybridal.reports.number_formats import change

WIDTH = 9.0


def draw_ends(runs: pd.DataFrame, path: Path) -> None:
    """Share of retraining's steps against the difference in F1, with its bounds, and against NLL, raw and scaled."""
    with styled():
        figure = new_figure(4.0, WIDTH)
        left, right = figure.subplots(1, 2)
        keys: dict[str, Line2D] = {}
        for spec in has(runs, SCHEDULES):
            own, other = pairs(runs, spec)
            share, style = float((own["steps"] / other["steps"]).mean()), style_of(spec)
            dot: dict[str, Any] = {"color": style.light, "marker": style.marker, "markersize": 7, "linestyle": "none"}
            mean, low, high = (0.0, 0.0, 0.0) if spec == RETRAIN else bounds(100 * (own["test_f1"] - other["test_f1"]))
            left.errorbar(share, mean, yerr=[[mean - low], [high - mean]], **dot)
            raw, scaled = own["test_nll"].mean(), own["test_nll_scaled"].mean()
            right.plot([share, share], [raw, scaled], color=style.light, linewidth=1, alpha=0.5)
            right.plot(share, raw, **dot)
            right.plot(share, scaled, **dot, markerfacecolor="none")
            family = "fixed:K" if spec in FIXED else "replay:M" if "replay" in spec else name(spec).strip("`")
            keys[family] = Line2D([], [], **dot, label=family)
        left.axhline(0, color=MUTED, linewidth=0.8)
        left.axhspan(-2.5, -1, color=GRID, alpha=0.6, linewidth=0)
        left.text(1.2, -1.9, "worse than retraining by more than a point", color=MUTED, fontsize=8, ha="right")
        left.set_ylim(-2, 2.5)
        left.set_title("macro-F1 against retraining, in points")
        right.set_title("NLL: raw (filled) and scaled (hollow)")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(0.04, 1.25)
            axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1])
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_xlabel("optimiser steps, share of retraining's")
        figure.legend(handles=list(keys.values()), loc="outside lower center", ncols=5)
        figure.savefig(path, dpi=150)


def draw_chances(runs: pd.DataFrame, path: Path) -> None:
    """Cost and outcome of every switch (NLL raw and scaled, F1), compared with a coin flip between the extremes."""
    panels = {
        "test_nll": ("NLL, raw", (0.38, 0.72)),
        "test_nll_scaled": ("NLL after a temperature", (0.38, 0.72)),
        "test_f1": ("macro-F1", (0.79, 0.83)),
    }
    ends = {spec: pairs(runs, spec) for spec in (RETRAIN, FINETUNE, "newonly", *FIXED, *RULES)}
    at = {spec: float(own["steps"].mean() / other["steps"].mean()) for spec, (own, other) in ends.items()}
    coin: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": DASHED, "label": "a coin at equal steps"}
    hollow: dict[str, Any] = {"markerfacecolor": "none"}
    with styled():
        figure = new_figure(4.6, WIDTH)
        keys: dict[str, Line2D] = {}
        for axes, (measure, (heading, limits)) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            mean = {spec: float(own[measure].mean()) for spec, (own, _) in ends.items()}
            axes.plot([at[FINETUNE], at[RETRAIN]], [mean[FINETUNE], mean[RETRAIN]], **coin)
            for spec, style in ((spec, style_of(spec)) for spec in ends):
                size = 10 if spec in (RETRAIN, FINETUNE) else 7
                dot: dict[str, Any] = {"color": style.light, "marker": style.marker, "linestyle": "none"}
                theirs = spec in RULES and whose(spec) != "own"
                axes.plot(at[spec], mean[spec], markersize=size, **dot, **(hollow if theirs else {}))
                family = "fixed:K" if spec in FIXED else title(spec).replace("`", "").split(",")[0]
                keys[family] = Line2D([], [], **dot, label=family)
            axes.set_title(heading)
            axes.set_ylim(*limits)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
            axes.set_xlim(0, 1.06)
            axes.set_xlabel("steps, share of retraining's")
        keys["hollow"] = Line2D(
            [], [], color=INK, marker="o", linestyle="none", label="hollow: the paper's ε", **hollow
        )
        keys["coin"] = Line2D([], [], **coin)
        figure.legend(handles=list(keys.values()), loc="outside lower center", ncols=5)
        figure.savefig(path, dpi=150)


def draw_signals(cells: Sequence[Cell], path: Path) -> None:
    """The changes of retraining runs by round, with the thresholds of stability."""
    with styled():
        figure = new_figure(3.4, WIDTH)
        for axes, tuned in zip(figure.subplots(1, 2), (ALPHA, ACCURACY), strict=True):
            signal, colour = rule_of(tuned).signal, style_of(tuned).light
            series = np.array([frame[signal.name].to_numpy(float) for frame in changes(cells)])
            rounds = np.arange(2, series.shape[1] + 2)
            low, middle, high = np.quantile(series, (0.1, 0.5, 0.9), axis=0)
            axes.fill_between(rounds, np.maximum(low, middle.min() / 20), high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(rounds, middle, color=colour, linewidth=2)
            for spec in rules_of(signal.name):
                epsilon, share = rule_of(spec).detector.epsilon, fired(cells, spec).notna().mean()
                axes.axhline(epsilon, color=INK, linewidth=0.9, linestyle=DASHED)
                label = f"{whose(spec)} ε:\n{epsilon:.2g}, fires in {share:.0%}"
                axes.text(25.8, epsilon, label, fontsize=8, va="center", color=INK, linespacing=1.05)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: change(value)))
            axes.set_xlim(1.5, 25.5)
            axes.set_ylim(middle.min() / 8, high.max() * 1.3)
            axes.set_xlabel("round")
            axes.set_title(f"{signal.title} while retraining: median, and 80% of runs")
        figure.savefig(path, dpi=150)
