"""Do signals move together?"""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.core.facts import Round
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.correlation import signal_correlation
from hybridal.evidence.tables._entries import fixed, one
from hybridal.evidence.tables._runs import RETRAIN
from hybridal.evidence.tables.table import Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder


def signal_correlations(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Spearman's ρ between the signals that Retrain's runs recorded.

    >>> from hybridal.evidence.tables._example import example
    >>> table = signal_correlations(*example())
    >>> [entry.text for entry in table.sections[0].rows[0]][:3]
    ['accuracy', '1.00', '0.96']
    """
    trunks = [
        history
        for cell in folder.cells
        for spec, history in folder.histories(cell).items()
        if spec == RETRAIN and len(history) == cell.settings.rules.rounds
    ]
    shared = [name for name in (trunks[0][-1].changes if trunks else ()) if _everywhere(trunks, name)]
    if len(shared) < 2:
        return None
    found = signal_correlation(trunks, shared)
    rows: list[Row] = [
        (Entry(name), *(one(value, fixed(2)) for value in values))
        for name, values in zip(shared, found.rho, strict=True)
    ]
    columns = (Column("Signal"), *(Column(name, ("value",)) for name in shared))
    caption = (
        f"Spearman's ρ between the signals' changes, over {found.n} rounds of {len(trunks)} Retrain runs. Rounds of a "
        "run are no independent draws, so there is no p."
    )
    return Table("signal-correlations", caption, columns, (Section((), tuple(rows)),))


def _everywhere(trunks: Sequence[Sequence[Round]], name: str) -> bool:
    return all(name in fact.changes for history in trunks for fact in history)
