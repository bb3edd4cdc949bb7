"""Do signals say the same? Spearman's correlation between their changes while retraining."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hybridal.evidence.formats import counted
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.correlation import spearman
from hybridal.evidence.study_figures._names import signal_name
from hybridal.evidence.study_figures._parts import ink_on
from hybridal.evidence.study_figures._tables import comparable
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, GRID, INK, new_figure, styled
from hybridal.study.folder import StudyFolder

# Orange for opposite, blue for alike, nearly white for nothing: the colour-blind tell them apart too.
_COLOURS = LinearSegmentedColormap.from_list("rho", ["#b35806", "#f4b876", "#f6f6f6", "#8dbbe0", "#2166ac"])

Rho = tuple[tuple[float | None, ...], ...]


def correlation_matrix(results: Results, _folder: StudyFolder, width: float = COLUMN) -> Figure | None:
    """The lower half of the matrix of ρ between all signals that every Retrain run recorded."""
    table = signal_changes(results)
    if table is None:
        return None
    names, rho = [signal_name(name) for name in table.columns], spearman(table.to_numpy(dtype=float))
    count = len(names)
    with styled():
        side = min(width, COLUMN)
        figure = new_figure(0.5 + side * (0.3 + 0.55 * min(count, 9) / 9), width)
        axes = figure.subplots()
        for row in range(1, count):
            for column in range(row):
                value = rho[row][column]
                colour = GRID if value is None else _COLOURS((value + 1) / 2)
                axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=colour, linewidth=0))
                ink = INK if value is None else ink_on(*colour[:3])
                axes.text(column, row, _said(value), ha="center", va="center", fontsize=8, color=ink)
        axes.set(xlim=(-0.5, count - 1.5), ylim=(count - 0.5, 0.5))
        axes.set_yticks(range(1, count), names[1:])
        axes.set_xticks(range(count - 1), names[:-1], rotation=0 if _fits(names, width) else 35)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(f"Spearman's ρ of {counted(len(table), 'round')} of Retrain")
        return figure


def correlation_words(results: Results, _folder: StudyFolder) -> Words:
    table = signal_changes(results)
    assert table is not None
    names, rho = [signal_name(name) for name in table.columns], spearman(table.to_numpy(dtype=float))
    pairs = [(value, names[j], names[i]) for i, row in enumerate(rho) for j, value in enumerate(row[:i])]
    known = sorted((pair for pair in pairs if pair[0] is not None), key=lambda pair: -abs(pair[0] or 0))
    said = [f"{one} and {other} {_said(value)}" for value, one, other in known]
    reading = (
        "Signals with a ρ near 1 would decide alike, near 0 they see different things; every (run, round) of Retrain "
        "in which all signals have a change is one observation."
    )
    alt = f"Spearman's ρ, strongest first: {'; '.join(said)}." if said else "No two signals vary."
    return Words("Which signals say the same", reading, alt)


def signal_changes(results: Results) -> pd.DataFrame | None:
    """A row a round of Retrain, a column a signal; None below three signals (one number is no figure) or two rounds."""
    found = comparable(results)
    if found is None:
        return None
    own = found.rounds[found.rounds["schedule"] == "retrain"]
    changes = own[[name for name in own.columns if name.startswith("change_")]].dropna(axis=1, how="all")
    full = changes.rename(columns=lambda name: str(name).removeprefix("change_")).dropna().astype(np.float64)
    return full if full.shape[0] > 1 and full.shape[1] > 2 else None


def _fits(names: list[str], width: float) -> bool:
    """Whether the names can stand beside each other below their cells."""
    return 0.08 * max(map(len, names)) < (width - 0.7) / (len(names) - 1)


def _said(value: float | None) -> str:
    """Two digits with a true minus; ρ of a signal that never changes is none.

    >>> _said(-0.004), _said(0.789), _said(-0.3), _said(None)
    ('0.00', '0.79', '−0.30', '–')
    """
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
