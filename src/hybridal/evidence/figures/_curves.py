"""What the curves over rounds have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hybridal.core.facts import Round
from hybridal.evidence.looks import distinct_markers, distinct_names, look
from hybridal.evidence.style import INK, MUTED, SURFACE
from hybridal.evidence.summary import Histories

Measure = Callable[[Round], float | None]


def longest(histories: Histories) -> int:
    return max((len(history) for history in histories.values()), default=0)


def cut(text: str, most: int = 32) -> str:
    """A name that leaves room for the figure."""
    return text if len(text) <= most else text[: most - 1] + "…"


def names_of(histories: Histories) -> dict[str, str]:
    """The schedules' names, as long as a figure can take."""
    return {spec: cut(name) for spec, name in distinct_names(histories).items()}


def points(history: Sequence[Round], measure: Measure) -> list[tuple[Round, float]]:
    """The rounds in which there is something to draw."""
    return [(fact, value) for fact in history if (value := measure(fact)) is not None]


def widths(specs: Sequence[str]) -> dict[str, float]:
    """Line widths that fall from the first to the last: curves that lie on top of each other all stay visible."""
    extra = 1.9 if len(specs) > 1 else 0.0
    return {spec: 1.5 + extra * (1 - at / max(len(specs) - 1, 1)) for at, spec in enumerate(specs)}


def curve(axes: Axes, found: Sequence[tuple[Round, float]], spec: str, marker: str, **line: Any) -> None:
    """One line; its markers are filled where the model was retrained, and open where it went on from before."""
    colour, size = look(spec).light, line.pop("markersize", 4.5)
    axes.plot([fact.round for fact, _ in found], [value for _, value in found], color=colour, **line)
    for face, anew in ((colour, True), (SURFACE, False)):
        chosen = [(fact.round, value) for fact, value in found if (fact.update == "retrain") == anew]
        if size:
            marks(axes, chosen, marker, colour, face, size)


def marks(axes: Axes, at: Sequence[tuple[float, float]], marker: str, colour: str, face: str, size: float) -> None:
    """Marks without a line, above all lines."""
    axes.plot(
        [x for x, _ in at],
        [y for _, y in at],
        marker=marker,
        markersize=size,
        color=colour,
        markerfacecolor=face,
        linestyle="none",
        zorder=3,
    )


def curves(axes: Axes, histories: Histories, measure: Measure, **line: Any) -> bool:
    """One line a schedule; says whether anything was there to draw."""
    markers, broad, drawn = distinct_markers(histories), widths(list(histories)), False
    for spec, history in histories.items():
        if found := points(history, measure):
            curve(axes, found, spec, markers[spec], **{"linewidth": broad[spec], **line})
            drawn = True
    return drawn


def labels_above(axes: Axes, histories: Histories) -> None:
    """A second x axis with the number of labels, where all histories agree on it."""
    labels = {(fact.round, fact.labels) for history in histories.values() for fact in history}
    by_round = dict(labels)
    if not labels or len(labels) != len(by_round):
        return
    shown = [round for round in axes.get_xticks().astype(int).tolist() if round in by_round]
    above = axes.secondary_xaxis("top")
    above.set_xticks(shown, [f"{by_round[round]:,}" for round in shown])
    above.set_xlabel("labels", labelpad=5)
    above.spines["top"].set_visible(False)


def room(histories: Histories) -> float:
    """Inches that a legend of all these schedules needs."""
    return 0.0 if len(histories) == 1 else 0.19 * -(-(len(histories) + 4) // _columns(names_of(histories).values()))


def _columns(names: Iterable[str]) -> int:
    return 1 if max(map(len, names), default=0) > 22 else 2


def legend(figure: Figure, histories: Histories, extra: Sequence[Line2D] = (), shapes: bool = True) -> None:
    """One legend below the figure: schedules where there are several, then what the line styles mean."""
    names, markers = names_of(histories), distinct_markers(histories)
    many = len(histories) > 1
    handles = [
        Line2D([], [], color=look(spec).light, marker=markers[spec], linewidth=2.2, label=names[spec])
        for spec in histories
        if many
    ]
    updates = {fact.update == "retrain" for history in histories.values() for fact in history}
    if shapes and len(updates) > 1:
        handles += [key("retrained", marker="o"), key("not retrained", marker="o", markerfacecolor=SURFACE)]
    handles += extra
    if handles:
        columns = _columns(str(handle.get_label()) for handle in handles)
        figure.legend(handles=handles, loc="outside lower center", ncols=3 if len(handles) == 3 else columns)


def key(label: str, **look_of_it: Any) -> Line2D:
    """A legend's entry that is no schedule's."""
    return Line2D([], [], **({"color": MUTED, "linestyle": "none", "label": label} | look_of_it))


def nothing(axes: Axes, why: str) -> None:
    """Says in the figure's place why there is nothing to see."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=INK)
    axes.set_yticks([])
