"""What changes when one thing of the protocol does: pool, batch, candidates, validation, dropout, early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hybridal.evidence.results import Results, variant_name
from hybridal.evidence.tables._grid import Grid
from hybridal.evidence.tables._runs import runs_of, split_of
from hybridal.evidence.tables.measures import COST, EPOCHS, F1, FIRE_RATE, NLL, SECONDS_NOTE, T_STAR, seeds_said
from hybridal.evidence.tables.names import acquisition_name
from hybridal.evidence.tables.table import Table
from hybridal.study.folder import StudyFolder

Variant = Mapping[str, Any]
_STOPPING = frozenset({"max_epochs", "stop_after"})


def pool_size(results: Results, folder: StudyFolder) -> Table | None:
    """Labels to begin with.

    >>> from hybridal.evidence.tables._example import example
    >>> table = pool_size(*example(vary=({"initial": 50}, {"initial": 100})))
    >>> [entry.text for entry in table.sections[0].rows[0]][:2], table.columns[0].title
    (['50', 'Retrain'], 'Initial labels')
    """
    return _one(results, folder, "pool-size", "initial", "Initial labels")


def batch_size(results: Results, folder: StudyFolder) -> Table | None:
    """Labels a round."""
    return _one(results, folder, "batch-size", "batch", "Labels a round")


def subset_size(results: Results, folder: StudyFolder) -> Table | None:
    """Candidates that are scored a round."""
    return _one(results, folder, "subset-size", "candidates", "Candidates")


def validation_size(results: Results, folder: StudyFolder) -> Table | None:
    """Validation texts that steer early stopping and the signal."""
    return _one(results, folder, "validation-size", "validation_size", "Validation texts")


def dropout(results: Results, folder: StudyFolder) -> Table | None:
    """Dropout in all updates, in none, or in fine-tuning alone as in the published code."""
    return _one(results, folder, "dropout", "dropout", "Dropout")


def calibrated_acquisition(results: Results, folder: StudyFolder) -> Table | None:
    """Acquisition by the model's own probabilities, or by temperature-scaled ones."""
    return _one(results, folder, "calibrated-acquisition", "calibrate", "Scaled before acquisition")


def early_stopping(results: Results, folder: StudyFolder) -> Table | None:
    """A fixed number of epochs a round, or as many as validation asks for."""
    if not _fields(folder) or not _fields(folder) <= _STOPPING:
        return None
    return _varied(results, folder, "early-stopping", "Training", _stopping)


def variants(results: Results, folder: StudyFolder) -> Table | None:
    """Whatever else a study varies, by its name."""
    known = ({name} for name in ("initial", "batch", "candidates", "validation_size", "dropout", "calibrate"))
    fields = _fields(folder)
    if not fields or fields in known or fields <= _STOPPING:
        return None
    return _varied(results, folder, "variants", "Variant", lambda variant: variant_name(variant) or "as it is")


def samplers(results: Results, folder: StudyFolder) -> Table | None:
    """How the batch is chosen.

    >>> from hybridal.evidence.tables._example import example
    >>> table = samplers(*example(acquisitions=("entropy", "badge")))
    >>> [row[0].text for row in table.sections[0].rows[::5]]
    ['Entropy', 'BADGE']
    """
    if len(folder.study.acquisitions) < 2:
        return None
    labels = {name: acquisition_name(name) for name in folder.study.acquisitions}
    return _grid(results, "samplers", "acquisition", "Acquisition", labels)


def _one(results: Results, folder: StudyFolder, name: str, field: str, heading: str) -> Table | None:
    if _fields(folder) != {field}:
        return None
    return _varied(results, folder, name, heading, lambda variant: _value(variant.get(field, "as it is")))


def _varied(
    results: Results, folder: StudyFolder, name: str, heading: str, said: Callable[[Variant], str]
) -> Table | None:
    return _grid(results, name, "variant", heading, {variant_name(one): said(one) for one in folder.study.vary})


def _grid(results: Results, name: str, factor: str, heading: str, labels: Mapping[str, str]) -> Table | None:
    rows = runs_of(results)
    if not rows:
        return None
    split = split_of(rows)
    caption = (
        f"By {heading[:1].lower()}{heading[1:]}: mean ± std over {seeds_said(rows)}; t* is over the runs that fired. "
        f"{SECONDS_NOTE}"
    )
    measures = (F1.on(split), NLL.on(split), *COST, EPOCHS, FIRE_RATE, T_STAR)
    return Grid(name, caption, measures, (factor, "schedule"), (heading, "Method"), {factor: labels}).table(rows)


def _fields(folder: StudyFolder) -> set[str]:
    """The protocol fields in which the study's variants differ."""
    named = {name for variant in folder.study.vary for name in variant}
    return {name for name in named if len({repr(variant.get(name, _fields)) for variant in folder.study.vary}) > 1}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else "all" if value is None else str(value)


def _stopping(variant: Variant) -> str:
    epochs, patience = variant.get("max_epochs"), variant.get("stop_after", "?")
    if patience is None:
        return f"{epochs} epochs" if epochs is not None else "no early stopping"
    parts = [f"≤ {epochs} epochs"] if epochs is not None else []
    return ", ".join([*parts, *([f"patience {patience}"] if patience != "?" else [])]) or "as it is"
