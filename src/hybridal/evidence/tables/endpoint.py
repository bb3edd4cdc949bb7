"""Where runs ended and what they cost, per backbone, method and task."""

from __future__ import annotations

from hybridal.evidence.results import Results
from hybridal.evidence.tables._grid import Grid
from hybridal.evidence.tables._runs import runs_of, split_of
from hybridal.evidence.tables.measures import COST, ECE, EPOCHS, F1, NLL, SECONDS_NOTE, Measure, seeds_said
from hybridal.evidence.tables.table import Table
from hybridal.study.folder import StudyFolder


def endpoint_f1(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """F1 after the last round.

    >>> from hybridal.evidence.tables._example import example
    >>> table = endpoint_f1(*example())
    >>> [column.title for column in table.columns], table.sections[0].title, table.sections[0].rows[0][1].text
    (['Method', 'IMDb', 'AG News', 'Mean'], 'DistilBERT', '0.823 ± 0.004')
    """
    return _endpoint(results, F1, "endpoint-f1")


def endpoint_nll(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """NLL after the last round."""
    return _endpoint(results, NLL, "endpoint-nll")


def endpoint_ece(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Calibration error after the last round."""
    return _endpoint(results, ECE, "endpoint-ece")


def endpoint_cost(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """What whole runs cost: counted, in seconds, and in epochs that a round took until it stopped.

    >>> from hybridal.evidence.tables._example import example
    >>> [section.title for section in endpoint_cost(*example()).sections][:2]
    ['DistilBERT, Optimiser steps (lower is better)', 'DistilBERT, Training seconds (lower is better)']
    """
    rows = runs_of(results)
    if not rows:
        return None
    caption = f"Cost of a whole run per method and task: mean ± std over {seeds_said(rows)}. {SECONDS_NOTE}"
    return Grid("endpoint-cost", caption, (*COST, EPOCHS)).table(rows)


def _endpoint(results: Results, measure: Measure, name: str) -> Table | None:
    rows = runs_of(results)
    if not rows:
        return None
    shown = measure.on(split_of(rows))
    caption = f"{shown.arrow} after the last round per method and task: mean ± std over {seeds_said(rows)}."
    return Grid(name, caption, (shown,)).table(rows)
