"""Where the time went: seconds per phase, stacked."""

from __future__ import annotations

from matplotlib.figure import Figure

from hybridal.evidence.figures._curves import cut, longest, names_of, nothing
from hybridal.evidence.style import INKS, MUTED, new_figure, styled, whole_rounds
from hybridal.evidence.summary import Histories, phase_names, total_seconds


def phase_seconds(histories: Histories) -> Figure:
    """Seconds per phase: of each round where there is one history, of each schedule where there are several.

    >>> phase_seconds({"retrain": []}).axes[0].texts[0].get_text()
    'no time was recorded'
    """
    with styled():
        many = len(histories) > 1
        figure = new_figure(1.3 + 0.34 * len(histories) if many else 3.0)
        axes = figure.subplots()
        phases = phase_names(histories)
        if not phases:
            nothing(axes, "no time was recorded")
        elif many:
            names = list(names_of(histories).values())
            totals = [total_seconds(history) for history in histories.values()]
            at = [0.0] * len(names)
            for phase in phases:
                lengths = [total.get(phase, 0.0) for total in totals]
                axes.barh(range(len(names)), lengths, left=at, height=0.68, color=_colour(phase), label=cut(phase))
                at = [start + length for start, length in zip(at, lengths, strict=True)]
            axes.set_yticks(range(len(names)), names)
            axes.invert_yaxis()
            axes.grid(axis="y", visible=False)
            axes.set_xlabel("seconds, all rounds")
        else:
            (history,) = histories.values()
            whole_rounds(axes, longest(histories))
            at = [0.0] * len(history)
            for phase in phases:
                lengths = [fact.seconds.get(phase, 0.0) for fact in history]
                rounds = [fact.round for fact in history]
                axes.bar(rounds, lengths, bottom=at, width=0.72, color=_colour(phase), label=cut(phase))
                at = [start + length for start, length in zip(at, lengths, strict=True)]
            axes.set_title("Seconds of each round")
        if phases:
            figure.legend(loc="outside lower center", ncols=3, handlelength=1.0, handleheight=1.0)
        return figure


def _colour(phase: str) -> str:
    return INKS.get(f"phase-{phase}", (MUTED, MUTED))[0]
