"""Which ε and k are best, and do protocol settings such as the subset size N matter?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from hybridal.core.rules import protocol
from hybridal.lab.reports.comparable import SEEDS_FOR_A_BAND, Comparable
from hybridal.lab.statistics.tuning import QUALITY, choose, grids
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_results import Results, variant_name
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import distinct_markers, method_names, short_labels, style_of
from hybridal.reports.figure_style import COLUMN, INK, Drawn
from hybridal.reports.number_formats import change, joined, plain, score, threshold
from hybridal.signals import signal_title

_SHAPES = "os^Dvph"
_TITLES = ("Validation macro-F1", "Validation NLL", "Optimiser steps")
_PAIR = ["task", "backbone", "seed"]
_NAMES = {
    "candidates": "subset size N",
    "initial": "initial labels",
    "batch": "labels added a round",
    "validation_size": "validation texts",
    "acquisition": "acquisition",
    "dropout": "dropout",
    "calibrate": "calibrated acquisition",
}


def tuned_signals(found: Comparable) -> dict[str, pd.DataFrame]:
    """Return the (ε, k) grid of each signal that has at least two ε and three pairs."""
    named = {signal: table.reset_index() for signal, table in grids(found.runs).items()}
    return {signal: table for signal, table in named.items() if len(table) > 2 and table["epsilon"].nunique() > 1}


def cross_sections(found: Comparable, signal: str, table: pd.DataFrame) -> Drawn | None:
    """Draw the (ε, k) grid of a signal: one panel per measure, ε on the x axis, one line per k."""
    if found.cost("steps") is None or found.runs[QUALITY].isna().any(axis=None):
        return None
    best = choose(table.set_index(["epsilon", "k"]), "steps").chosen
    table, columns = table.sort_values(["k", "epsilon"]), [*QUALITY, "steps"]
    chosen = table[(table["epsilon"] == best[0]) & (table["k"] == best[1])].iloc[0]
    name = plain(signal_title(signal))
    patiences = sorted(table["k"].unique())
    colours = {k: kit.shades()(0.25 + 0.75 * at / max(len(patiences) - 1, 1)) for at, k in enumerate(patiences)}
    shapes = dict(zip(patiences, _SHAPES * len(patiences), strict=False))
    keys = [kit.key(f"k = {k}", color=colours[k], marker=shapes[k], linestyle="-", linewidth=1.7) for k in patiences]
    keys.append(kit.key("chosen", **kit.STAR_KEY))
    with kit.drawing(4.6, keys) as figure:
        panels = list(figure.subplots(3, 1, sharex=True))
        for axes, column, title in zip(panels, columns, _TITLES, strict=True):
            for k in patiences:
                own = table[table["k"] == k]
                axes.plot(own["epsilon"], own[column], color=colours[k], marker=shapes[k], markersize=4.5, label=f"{k}")
            kit.star(axes, best[0], chosen[column], INK, size=14)
            axes.set_title(f"{name}: {title}")
        _epsilon_scale(figure, sorted(table["epsilon"].unique()))
        kit.thousands(panels[-1], "y")
        panels[-1].set_xlabel("ε")
    spans = [
        f"{words} {table[column].min():{form}} to {table[column].max():{form}}"
        for column, words, form in zip(columns, ("F1", "NLL", "optimiser steps"), (".3f", ".3f", ",.0f"), strict=True)
    ]
    reading = (
        "The star is the pair that the paper's rule chooses: among those within 0.5% of the best F1, the lowest sum of "
        "relative cost and half the relative NLL."
    )
    pair = f"ε = {threshold(best[0])}, k = {best[1]}"
    f1, nll, steps = (chosen[column] for column in columns)
    at = f"F1 {f1:.3f}, NLL {nll:.3f}, {steps:,.0f} optimiser steps"
    alt = f"Over the grid: {', '.join(spans)}. Chosen: {pair} with {at}."
    return Drawn(figure, f"ε and k of {name}", reading, alt)


def _epsilon_scale(figure: Figure, epsilons: list[float]) -> None:
    """Set the x axis to the tested ε, logarithmic if they differ by orders of magnitude."""
    for axes in figure.axes:
        if epsilons[-1] / epsilons[0] > 8:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_locator(FixedLocator(epsilons[:: math.ceil(len(epsilons) / 5)]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: change(value)))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.margins(y=0.12)


@dataclass(frozen=True)
class Varied:
    """The varied protocol setting of a study: its column, the names of its values, and the position of the default.

    Numeric values are `ordered`, so that lines may connect them.
    """

    title: str
    column: str
    values: dict[str, str]
    usual: int | None
    ordered: bool


def what_varies(study: Study) -> Varied | None:
    """Return the single setting that a study varies; None if nothing varies, or acquisition and protocol both do.

    >>> sizes = tuple({"candidates": n} for n in (None, 500, 1000))
    >>> what_varies(Study("n", ("imdb",), ("retrain",), vary=sizes))
    Varied(title='subset size N', column='variant', values={'candidates=500': '500', 'candidates=1000': '1000',
    'candidates=all': 'all'}, usual=1, ordered=True)
    """
    if len(study.vary) > 1 and len(study.acquisitions) > 1:
        return None
    if len(study.acquisitions) > 1:
        values = {name: plain(name, 12) for name in study.acquisitions}
        return Varied(_NAMES["acquisition"], "acquisition", values, None, False)
    if len(study.vary) < 2:
        return None
    fields = {tuple(variant) for variant in study.vary}
    if len(fields) != 1 or len(field := next(iter(fields))) != 1:
        values = {variant_name(one): "\n".join(_line(*pair) for pair in one.items()) or "as is" for one in study.vary}
        return Varied("protocol", "variant", values, None, False)
    (name,) = field
    ordered = sorted(study.vary, key=lambda variant: _order(variant[name]))
    usual = getattr(protocol(study.protocol, study.overrides), name)
    places = [at for at, variant in enumerate(ordered) if variant[name] == usual]
    values = {variant_name(variant): _value_text(variant[name]) for variant in ordered}
    numeric = all(variant[name] is None or _is_number(variant[name]) for variant in ordered)
    return Varied(_NAMES.get(name, plain(name)), "variant", values, next(iter(places), None), numeric)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _line(name: str, value: Any) -> str:
    return plain(f"{name} {'none' if value is None else value}", 18)


def _order(value: Any) -> tuple[bool, float]:
    """Sort numbers by size, then `all`; keep the order of other values."""
    return value is None, float(value) if _is_number(value) else 0.0


def _value_text(value: Any) -> str:
    if value is None:
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    large = isinstance(value, int) and value >= 10_000 and value % 1000 == 0
    return f"{value // 1000}k" if large else plain(str(value), 12)


def sensitivity(results: Results) -> Drawn | None:
    """Draw, in one panel per task, the mean F1 of each schedule by the varied value, ±1 standard deviation over runs.

    Lines connect numeric values only.
    """
    varied, found = what_varies(results.folder.study), _paired(results)
    if varied is None or found is None or not (specs := found.methods()):
        return None
    split, runs, names, sentences = found.measured, found.runs, method_names(specs), []
    tasks = short_labels(runs["task"].unique())
    banded = runs["seed"].nunique() >= SEEDS_FOR_A_BAND
    keys = kit.method_keys(specs)
    if varied.usual is not None:
        keys.append(kit.key("as in the protocol", linestyle=kit.DOTTED, color=INK))
    with kit.paneled(len(tasks), 1.85, keys, extra=0.2) as (figure, panels):
        for axes, (task, title) in zip(panels, tasks.items(), strict=True):
            table = spread(runs[runs["task"] == task], varied, f"{split}_f1")
            _draw_spread(axes, table, specs, varied.ordered)
            _ticks(axes, list(varied.values.values()), COLUMN / kit.columns_of(len(tasks)))
            if varied.usual is not None:
                axes.axvline(varied.usual, color=INK, linewidth=1, linestyle=kit.DOTTED, zorder=1)
            axes.set_title(title)
            for spec, method in names.items():
                sentences.append(
                    f"{title}, {method}: {joined([score(value) for value in table['mean'].xs(spec).tolist()])}"
                )
        kit.label_outside(panels, varied.title, f"{split} macro-F1")
    band = ", ±1 standard deviation" if banded else ""
    reading = f"Macro-F1 on {split} after the last round{band}; a flat line says that the choice does not matter."
    values = joined([value.replace("\n", " ") for value in varied.values.values()])
    return Drawn(figure, f"Sensitivity to {varied.title}", reading, f"F1 for {values}. {'; '.join(sentences)}.")


def spread(runs: pd.DataFrame, varied: Varied, column: str) -> pd.DataFrame:
    """Return mean, standard deviation and number of runs by (schedule, position of the value)."""
    places = {value: at for at, value in enumerate(varied.values)}
    groups = runs.assign(place=runs[varied.column].map(places)).groupby(["schedule", "place"])[column]
    return groups.agg(["mean", "std", "count"]).assign(seeds=runs["seed"].nunique())


def _draw_spread(axes: Axes, table: pd.DataFrame, specs: list[str], ordered: bool) -> None:
    shapes = distinct_markers(specs)
    for at, spec in enumerate(specs):
        own, colour = table.loc[spec], style_of(spec).light
        low, high = own["mean"] - own["std"], own["mean"] + own["std"]
        banded, band = own["seeds"].max() >= SEEDS_FOR_A_BAND, f"band of {spec}"
        if ordered:
            if banded:
                axes.fill_between(own.index, low, high, color=colour, alpha=0.16, linewidth=0, label=band)
            axes.plot(own.index, own["mean"], color=colour, marker=shapes[spec], label=spec)
            continue
        places = own.index.to_numpy(float) + 0.5 * (at - (len(specs) - 1) / 2) / len(specs)
        if banded:
            axes.vlines(places, low, high, color=colour, linewidth=1.2, alpha=0.6, label=band)
        axes.plot(places, own["mean"], color=colour, marker=shapes[spec], markersize=6, linestyle="none", label=spec)
    if not ordered:
        axes.set_xlim(-0.5, table.index.get_level_values("place").max() + 0.5)


def _ticks(axes: Axes, names: list[str], width: float) -> None:
    longest = [max(map(len, name.split("\n"))) for name in names]
    crowded = 0.08 * sum(longest) > 0.8 * width
    axes.set_xticks(range(len(names)), names, rotation=40 if crowded else 0, fontsize=8)
    axes.grid(axis="x", visible=False)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))


def _paired(results: Results) -> Comparable | None:
    """Return the runs of each (task, backbone, seed) that is complete in all settings."""
    found = Comparable(results.runs, results.rounds, results.folder)
    if found.runs.empty or found.measured is None:
        return None
    settings = len(found.runs[["acquisition", "variant", "schedule"]].drop_duplicates())
    whole = found.runs.groupby(_PAIR)["update_sequence"].transform("count") == settings
    return replace(found, runs=found.runs[whole]) if whole.any() else None
