"""The labels that a run has learnt from, as a table."""

from __future__ import annotations

import csv
import io

from hybridal.runs import checkpoint
from hybridal.runs.record import RunFolder


def labels_csv(folder: RunFolder) -> str:
    """CSV with id, label and text of each labelled text, in the order they were acquired."""
    saved = checkpoint.load(folder.checkpoint)
    task = folder.task()
    table = io.StringIO()
    # The usual \r\n: with another line end the writer does not quote a lone \r, and readers see two rows.
    writer = csv.writer(table)
    writer.writerow(["id", "label", "text"])
    pool = saved[0].pool if saved else None
    for row in pool.order.tolist() if pool is not None else []:
        assert pool is not None
        writer.writerow([task.train.ids[row], task.classes[pool.labels[row]], task.train.texts[row]])
    return table.getvalue()
