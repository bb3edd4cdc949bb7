"""Of which classes were the texts that runs acquired?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridal.evidence.results import Results
from hybridal.evidence.statistics.composition import ClassBalance, class_balance
from hybridal.evidence.tables._acquired import (
    AFTER,
    BEFORE,
    acquiring_runs,
    ids_before_after,
    labels_and_pools,
    switching_methods,
    task_is_there,
)
from hybridal.evidence.tables._entries import fixed, one
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import distinct, those
from hybridal.evidence.tables.names import task_names
from hybridal.evidence.tables.table import Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder, task_key


def batch_classes(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Classes of acquired batches, beside those of the pool.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in batch_classes(*example()).sections[0].rows[5]]
    ['HybridAL ΔAcc', 'IMDb', 'sport', '55.4', '60.0', '50.0']
    """
    rows = [row for row in acquiring_runs(folder) if task_is_there(folder, row["run"].cell)]
    names = task_names(distinct(rows, "task"))
    labels, pools = labels_and_pools(folder, rows)
    sections = []
    for keys, members in settings(rows):
        lines: list[Row] = []
        for method, mine in switching_methods(members):
            for task in distinct(mine, "task"):
                runs = [row["run"] for row in those(mine, task=task)]
                key = task_key(runs[0].cell.settings)
                parts = [_balance(ids, labels[task], pools[key]) for ids in ids_before_after(runs)]
                usual = np.array([*pools[key].values()]) / max(1, sum(pools[key].values()))
                for at, name in enumerate(pools[key]):
                    shares = [part.shares[at] if part.shares else None for part in parts]
                    numbers = [one(_percent(share), fixed(1)) for share in (*shares, float(usual[at]))]
                    lines.append((Entry(method), Entry(names[task]), Entry(name), *numbers))
        if lines:
            sections.append(Section(keys, tuple(lines)))
    if not sections:
        return None
    columns = [Column("Method"), Column("Task"), Column("Class")]
    columns += [Column(title, ("value",)) for title in (BEFORE, AFTER, "Pool")]
    caption = "Classes of acquired batches in percent, all seeds together, beside those of the whole pool."
    return Table("batch-classes", caption, tuple(columns), tuple(sections), setting_keys(rows))


def _balance(ids: Sequence[str], labels: dict[str, str], pool: dict[str, int]) -> ClassBalance:
    known = [id for id in ids if id in labels]
    return class_balance(known, labels, list(pool))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * float(share)
