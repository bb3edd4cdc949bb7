"""What does patience do? How long a signal stays below ε: too short to fire, or long enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from hybridal.evidence.formats import counted, threshold
from hybridal.evidence.looks import look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._parts import DASHED, label_outside, paneled
from hybridal.evidence.study_figures._tables import comparable, hybrids, methods, run_changes
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, INK, MUTED, styled
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules.hybrid import HybridAL
from hybridal.study.folder import StudyFolder


@dataclass(frozen=True)
class Lengths:
    """How many stretches below ε have which length: until the switch and after it, when none can fire any more."""

    before: Counter[int]
    after: Counter[int]

    @property
    def total(self) -> Counter[int]:
        return self.before + self.after

    def filtered_share(self, patience: int) -> float | None:
        """The share of all stretches that are shorter than k."""
        total = self.total
        return sum(n for length, n in total.items() if length < patience) / total.total() if total else None


def stretches(results: Results, _folder: StudyFolder, width: float = COLUMN) -> Figure | None:
    """A panel a hybrid schedule: stretches by length in its own runs, those shorter than k apart from the others."""
    found = _found(results)
    if found is None:
        return None
    names = method_names(found, short=True)
    shown = {spec: one for spec, one in found.items() if one[1].total}
    with styled():
        figure, panels = paneled(len(shown), width, 1.6, 0.55)
        for axes, (spec, (schedule, lengths)) in zip(panels, shown.items(), strict=True):
            _draw(axes, lengths, schedule)
            axes.set_title(f"{names[spec]}: {lengths.filtered_share(schedule.patience):.0%} filtered")
        label_outside(panels, width, "rounds in a row below ε", "stretches")
        figure.legend(handles=_keys(), loc="outside lower center", ncols=3, handlelength=1.1, columnspacing=1.0)
        return figure


def stretch_words(results: Results, _folder: StudyFolder) -> Words:
    found = _found(results)
    assert found is not None
    names = method_names(found)
    said = []
    for spec, (schedule, lengths) in found.items():
        share = lengths.filtered_share(schedule.patience)
        rule = f"{names[spec]} (ε = {threshold(schedule.epsilon)}, k = {schedule.patience})"
        many = counted(lengths.total.total(), "stretch", "stretches")
        said.append(f"{rule}: " + ("never below ε" if share is None else f"{many}, {share:.0%} shorter than k"))
    reading = (
        "Stretches shorter than k (grey) never cause a switch; the first that is long enough does, and those after the "
        "switch (pale) can no longer."
    )
    return Words("What patience filters out", reading, "; ".join(said) + ".")


def stretch_lengths(runs: Sequence[Sequence[float | None]], detector: Stabilisation) -> Lengths:
    """Counts the stretches of all runs; the one that fired counts as before.

    >>> stretch_lengths([[None, 0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 0.1]], Stabilisation(0.5, 2))
    Lengths(before=Counter({1: 1, 3: 1}), after=Counter({1: 1}))
    """
    before, after = Counter[int](), Counter[int]()
    for changes in runs:
        streaks, t_star = detector.streaks(changes), detector.t_star(changes)
        for last, (length, following) in enumerate(zip(streaks, [*streaks[1:], 0], strict=True), start=1):
            if length and not following:
                first = last - length + 1
                (before if t_star is None or first <= t_star else after)[length] += 1
    return Lengths(before, after)


def _found(results: Results) -> dict[str, tuple[HybridAL, Lengths]] | None:
    found = comparable(results)
    if found is None:
        return None
    made = hybrids(methods(found.runs, fixed=False))
    lengths = {
        spec: (one, stretch_lengths(list(run_changes(found.rounds, spec, one.signal.name).values()), one.detector))
        for spec, one in made.items()
    }
    return lengths if any(one.total for _, one in lengths.values()) else None


def _draw(axes: Axes, lengths: Lengths, schedule: HybridAL) -> None:
    longest = max(lengths.total, default=1)
    for length in range(1, longest + 1):
        colour = look(schedule.spec).light if length >= schedule.patience else MUTED
        axes.bar(length, lengths.before[length], width=0.8, color=colour)
        axes.bar(length, lengths.after[length], bottom=lengths.before[length], width=0.8, color=colour, alpha=0.35)
    axes.axvline(schedule.patience - 0.5, color=INK, linestyle=DASHED, linewidth=1)
    above = axes.get_xaxis_transform()
    axes.annotate(f"k = {schedule.patience}", (schedule.patience - 0.5, 1), (4, -8), above, "offset points", fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlim(0.4, max(longest, schedule.patience + 1) + 0.6)
    axes.set_ylim(0, 1.25 * max(lengths.total.values()))
    axes.grid(axis="x", visible=False)


def _keys() -> list[Patch]:
    return [
        Patch(color=MUTED, label="filtered"),
        Patch(color=INK, label="fired (in colour)"),
        Patch(color=INK, alpha=0.35, label="after switch (pale)"),
    ]
