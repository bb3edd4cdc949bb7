"""The measures that reports show, for one label per text and for several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hybridal.core.rounds import MultiLabelMetrics, Round
from hybridal.measures.certainty import TEXTS_PER_CLASS, wilson
from hybridal.reports.number_formats import count, fixed, score
from hybridal.reports.report_table import MISSING, ONE, Column, Entry, Section, Table, one


@dataclass(frozen=True)
class Measure:
    """One measure: its heading, its name in `Metrics`, what it means, and whether higher is better."""

    title: str
    name: str
    hint: str
    higher: bool = False


_F1 = Measure("Macro-F1", "f1", "mean F1 of the classes that occur", higher=True)
_PROBABILITIES = (
    Measure("NLL", "nll", "negative log-likelihood: lower is better"),
    Measure("NLL scaled", "nll_scaled", "after temperature scaling"),
    Measure("ECE", "ece", "expected calibration error: lower is better"),
    Measure("ECE scaled", "ece_scaled", "after temperature scaling"),
)
ONE_LABEL = (_F1, Measure("Accuracy", "accuracy", "share of right answers", higher=True), *_PROBABILITIES)
SEVERAL_LABELS = (
    _F1,
    Measure("Micro-F1", "micro_f1", "F1 over all decisions, one class of one text each", higher=True),
    Measure("LRAP", "lrap", "label ranking average precision: how high a text's own classes rank", higher=True),
    Measure("Exact match", "accuracy", "share of texts with exactly the right classes", higher=True),
    Measure("Hamming", "hamming", "share of wrong decisions: lower is better"),
    *_PROBABILITIES,
)


def has_several_labels(records: Iterable[Round]) -> bool:
    """Whether these rounds are of a task with several labels per text, as far as they were measured."""
    return any(
        isinstance(found, MultiLabelMetrics)
        for record in records
        for found in (record.validation, record.test, record.cross)
    )


def measures_of(records: Iterable[Round]) -> tuple[Measure, ...]:
    """Return the measures of these rounds."""
    return SEVERAL_LABELS if has_several_labels(records) else ONE_LABEL


def class_table(metrics: MultiLabelMetrics, classes: Sequence[str], thresholds: Sequence[float], split: str) -> Table:
    """Return one row per class with its texts, precision and recall.

    Args:
        metrics: What was measured last.
        classes: The names of the classes.
        thresholds: From which probability each is given.
        split: Where it was measured.
    """
    columns = [Column("Class"), _number("Texts", f"of {split} that have the class"), _number("Given", "by the model")]
    columns += [
        _number("Precision", "share of the given that are right"),
        _number("Recall", "share of its texts found"),
    ]
    columns += [_number("F1"), _number("Threshold", "the probability from which the class is given")]
    rows = []
    for at, name in enumerate(classes):
        texts, given, hits = metrics.support[at], metrics.given[at], metrics.hits[at]
        f1 = one(2 * hits / (texts + given), fixed(3)) if texts >= TEXTS_PER_CLASS else MISSING
        threshold = one(thresholds[at], fixed(3)) if len(thresholds) else MISSING
        counts = (one(texts, fixed(0)), one(given, fixed(0)))
        rows.append((Entry(name), *counts, _share(hits, given), _share(hits, texts), f1, threshold))
    note = (
        f"Measured on {count(metrics.n)} {split} texts, of which each may have several classes or none. Precision and "
        "recall have their 95% interval as a tooltip; a dash stands for a measure without texts to tell it from."
    )
    return Table("classes", note, tuple(columns), (Section((), tuple(rows)),))


def _share(hits: int, of: int) -> Entry:
    if not of:
        return MISSING
    low, high = wilson(hits, of)
    hint = f"{count(hits)} of {count(of)}; 95% interval: {score(low)} to {score(high)}"
    return Entry(fixed(3)(hits / of), (hits / of,), hint=hint)


def _number(title: str, hint: str = "") -> Column:
    return Column(title, ONE, hint=hint)
