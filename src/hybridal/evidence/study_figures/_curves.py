"""Mean curves over rounds, with their bands, stars and a zoom on the last rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator
from numpy.typing import NDArray

from hybridal.evidence.figures._curves import widths
from hybridal.evidence.looks import distinct_markers, look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._parts import star
from hybridal.evidence.study_figures._tables import MOST_BANDS, SEEDS_FOR_A_BAND
from hybridal.evidence.style import GRID, MUTED

# With fewer rounds the whole curve is as easily read as its end.
ROUNDS_FOR_A_ZOOM = 12


@dataclass(frozen=True)
class Curve:
    """A schedule's mean by round.

    `sem` is None where there are too few seeds or too many curves, `t_star` where no run has one.
    """

    rounds: NDArray[np.float64]
    mean: NDArray[np.float64]
    sem: NDArray[np.float64] | None
    t_star: float | None

    @property
    def at_t_star(self) -> float:
        return float(np.interp(self.t_star or 0, self.rounds, self.mean))


def mean_curves(part: Results, column: str, specs: Sequence[str], by_task: bool = False) -> dict[str, Curve]:
    """Means over all runs of each schedule, or over the means of its tasks: the same where no cell is missing."""
    found = {}
    banded = not by_task and part.runs["seed"].nunique() >= SEEDS_FOR_A_BAND and len(specs) <= MOST_BANDS
    for spec in specs:
        own = part.rounds[part.rounds["schedule"] == spec]
        groups = own.groupby("round")[column]
        mean = own.groupby(["round", "task"])[column].mean().groupby("round").mean() if by_task else groups.mean()
        band = np.asarray(groups.sem(), dtype=np.float64) if banded else None
        t_stars = part.runs.loc[part.runs["schedule"] == spec, "t_star"].dropna()
        found[spec] = Curve(
            mean.index.to_numpy(dtype=float),
            mean.to_numpy(dtype=float),
            band,
            float(t_stars.mean()) if len(t_stars) else None,
        )
    return found


def draw_curves(axes: Axes, curves: Mapping[str, Curve], small: bool = False) -> None:
    """Bands below, lines above them, stars on top; a small drawing has lines and stars only."""
    shapes, broad = distinct_markers(curves), widths(list(curves))
    for at, (spec, curve) in enumerate(curves.items()):
        colour, rounds = look(spec).light, len(curve.rounds)
        if curve.sem is not None and not small:
            low, high = curve.mean - curve.sem, curve.mean + curve.sem
            axes.fill_between(curve.rounds, low, high, color=colour, alpha=0.16, linewidth=0, label=f"band of {spec}")
        # Marks stand in different rounds for different curves, so that those that touch can be told apart.
        step = max(rounds // 5, 1)
        marks: dict[str, Any] = (
            {} if small else {"marker": shapes[spec], "markevery": (at % step, step), "markersize": 4.5}
        )
        width = 0.55 * broad[spec] if small else broad[spec] - 0.3
        axes.plot(curve.rounds, curve.mean, color=colour, linewidth=width, label=spec, **marks)
    for spec, curve in curves.items():
        if curve.t_star is not None:
            star(axes, curve.t_star, curve.at_t_star, look(spec).light)


def zoom(axes: Axes, curves: Mapping[str, Curve], corner: str) -> Axes | None:
    """An inset of the last two fifths of the rounds, in the lower or upper right; the axis makes room for it."""
    last = max(curve.rounds[-1] for curve in curves.values())
    if last < ROUNDS_FOR_A_ZOOM:
        return None
    first = np.ceil(0.6 * last)
    # NewOnly lies so far from the others that they would fall together beside it.
    near = {spec: curve for spec, curve in curves.items() if spec != "newonly"} or curves
    tails = [curve.mean[curve.rounds >= first] for curve in near.values()]
    _make_room(axes, curves, corner, 0.3 * last)
    bottom = 0.08 if corner == "lower" else 0.53
    inset = axes.inset_axes((0.44, bottom, 0.55, 0.4))
    draw_curves(inset, curves, small=True)
    low, high = min(tail.min() for tail in tails), max(tail.max() for tail in tails)
    margin = 0.12 * (high - low) or 0.01
    inset.set(xlim=(first - 0.3, last + 0.3), ylim=(low - margin, high + margin))
    inset.xaxis.set_major_locator(FixedLocator([float(first), float(last)]))
    inset.yaxis.set_major_locator(MaxNLocator(nbins=3))
    inset.tick_params(labelsize=7, pad=1.5)
    inset.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
    inset.grid(visible=False, axis="x")
    for side in ("top", "right", "left", "bottom"):
        inset.spines[side].set(visible=True, color=MUTED, linewidth=0.6)
    return inset


def _make_room(axes: Axes, curves: Mapping[str, Curve], corner: str, first: float) -> None:
    """Moves the far end of the y axis until no curve runs through the inset's half."""
    low, high = axes.get_ylim()
    near = [curve.mean[curve.rounds >= first] for curve in curves.values()]
    if corner == "lower":
        lowest = min(float(part.min()) for part in near)
        axes.set_ylim(min(low, (lowest - 0.53 * high) / 0.47), high)
    else:
        highest = max(float(part.max()) for part in near)
        axes.set_ylim(low, max(high, low + (highest - low) / 0.47))
