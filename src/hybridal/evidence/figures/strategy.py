"""Which update each round used: one strip of cells a schedule."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from hybridal.evidence.figures._curves import cut, longest, names_of
from hybridal.evidence.looks import letter, look, schedule_name
from hybridal.evidence.style import new_figure, styled, whole_rounds
from hybridal.evidence.summary import Histories

_TINT = 0.3


def strategy_strip(histories: Histories) -> Figure:
    """Rounds from left to right, schedules from top to bottom; letter and tint say the update.

    >>> figure = strategy_strip({"retrain": [], "fixed:5": []})
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['Retrain', 'FixedSwitch@5']
    """
    with styled():
        rows = max(len(histories), 1)
        figure = new_figure(0.95 + 0.32 * rows)
        axes = figure.subplots()
        last = longest(histories)
        whole_rounds(axes, last)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        updates: dict[str, str] = {}
        for row, history in enumerate(histories.values()):
            for fact in history:
                colour = look(fact.update).light
                updates[fact.update] = colour
                corner = (fact.round - 0.46, row - 0.42)
                axes.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=colour, alpha=_TINT, linewidth=0))
                if last <= 30:
                    size = 9 if last <= 12 else 6.5
                    axes.text(fact.round, row, letter(fact.update), ha="center", va="center", fontsize=size)
        names = list(names_of(histories).values())
        axes.set_yticks(range(len(names)), names if len(names) > 1 else [""] * len(names))
        keys = [Patch(color=c, alpha=_TINT, label=f"{letter(u)}  {cut(schedule_name(u))}") for u, c in updates.items()]
        if keys:
            figure.legend(handles=keys, loc="outside lower center", ncols=3, handlelength=1.2)
        return figure
