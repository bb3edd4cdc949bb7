"""Is a method's F1 no worse than Retrain's, FineTune's, or the better of the two?"""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.evidence.formats import NONE
from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.statistics._numbers import NO_SPREAD
from hybridal.evidence.statistics.noise import seed_noise
from hybridal.evidence.statistics.noninferiority import equivalence
from hybridal.evidence.statistics.noninferiority import noninferiority as tested
from hybridal.evidence.tables._entries import fixed, one, p_value, signed
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import FINETUNE, RETRAIN, Run, cell_of, distinct, paired, runs_of, split_of, those
from hybridal.evidence.tables._runs import values as numbers_of
from hybridal.evidence.tables.table import Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

MARGINS = (0.005, 0.01, 0.02)


def noninferiority(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """One-sided 95% bounds of the mean paired difference in F1, at several margins δ.

    >>> from hybridal.evidence.tables._example import example
    >>> table = noninferiority(*example())
    >>> [section.title for section in table.sections]
    ['Retrain', 'FineTune', 'the better of both']
    >>> [entry.text for entry in table.sections[0].rows[0]]
    ['HybridAL ΔAcc', '6', '−0.0009', '−0.0044', '+0.0026', '0.0044', '✓ (0.032)', '✓ (0.002)', '✓ (< 0.001)']
    """
    rows = [row for row in runs_of(results) if row["f1"] is not None]
    sections = [
        Section((*keys, title), tuple(lines))
        for keys, members in settings(rows, ("backbone",))
        for title, reference in _references(members).items()
        if (lines := _rows(members, reference))
    ]
    if not sections:
        return None
    columns = [Column("Method"), Column("Pairs", ("n",)), Column("Difference", ("value",))]
    columns += [Column(title, ("value",)) for title in ("Lower bound", "Upper bound", "Equivalent at δ ≥")]
    columns += [Column(f"δ = {margin:g}", ("p",), "No worse by more than") for margin in MARGINS]
    noise = _noise(those(rows, schedule=RETRAIN))
    caption = (
        f"Non-inferiority of {split_of(rows)} F1 against a reference, over all (backbone, task, seed) pairs: the mean "
        "difference, its one-sided 95% bounds (two one-sided tests), the least margin at which both pass, and for each "
        f"margin δ whether the lower bound stays above −δ (✓), with p, or whether all pairs are the same (=).{noise} "
        "Seeds of a task resemble each other: the bounds speak for these tasks."
    )
    return Table(
        "noninferiority", caption, tuple(columns), tuple(sections), (*setting_keys(rows, ("backbone",)), "Reference")
    )


def _references(rows: Sequence[Run]) -> dict[str, list[Run]]:
    retrain, finetune = those(rows, schedule=RETRAIN), those(rows, schedule=FINETUNE)
    return {"Retrain": retrain, "FineTune": finetune, "the better of both": _better(retrain, finetune)}


def _rows(rows: Sequence[Run], reference: Sequence[Run]) -> list[Row]:
    names = distinct_names(distinct(rows, "schedule"))
    others = {spec: name for spec, name in names.items() if spec not in (RETRAIN, FINETUNE) and reference}
    return [_row(name, those(rows, schedule=spec), reference) for spec, name in others.items()]


def _row(name: str, mine: Sequence[Run], reference: Sequence[Run]) -> Row:
    pair = paired(mine, reference, "f1")
    found, both = tested(*pair, margins=MARGINS), equivalence(*pair, margins=MARGINS)
    same = found.mean == 0 and found.note == NO_SPREAD
    judged = [
        Entry("=" if same else NONE) if p is None else Entry(f"{'✓' if passes else '✗'} ({p_value(p)})", (p,))
        for p, passes in zip(found.p, found.passes, strict=True)
    ]
    bounds = [one(value, signed(4)) for value in (found.mean, both.low, both.high)]
    return (Entry(name), Entry(f"{found.n}", (found.n,)), *bounds, one(both.smallest_margin, fixed(4)), *judged)


def _better(retrain: Sequence[Run], finetune: Sequence[Run]) -> list[Run]:
    """In each cell that both have, the run with the higher F1: a hard reference, which is high by luck too."""
    other = {cell_of(row): row for row in finetune}
    both = [(row, other[cell_of(row)]) for row in retrain if cell_of(row) in other]
    return [max(pair, key=lambda row: float(row["f1"])) for pair in both]


def _noise(retrain: Sequence[Run]) -> str:
    cells: dict[tuple[object, ...], list[Run]] = {}
    for row in retrain:
        cells.setdefault(cell_of(row)[:-1], []).append(row)
    found = seed_noise([numbers_of(members, "f1") for members in cells.values()])
    if found.mean is None or found.median is None or found.largest is None:
        return ""
    return (
        f" From seed to seed, Retrain's F1 spreads by {found.mean:.4f} on average over {found.cells} cells (median "
        f"{found.median:.4f}, largest {found.largest:.4f})."
    )
