"""What changes when one thing of the protocol does: pool, batch, candidates, validation, dropout, early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hybridal.evidence.grid import COST, EPOCHS, F1, FIRE_RATE, NLL, SECONDS_NOTE, T_STAR, Grid, seeds_said
from hybridal.evidence.names import acquisition_name
from hybridal.evidence.results import Results, variant_name
from hybridal.evidence.table import Table
from hybridal.study.study import Study

Variant = Mapping[str, Any]
# The protocol field that a table is about, and what it is called there.
FIELDS = {
    "pool-size": ("initial", "Initial labels"),
    "batch-size": ("batch", "Labels a round"),
    "subset-size": ("candidates", "Candidates"),
    "validation-size": ("validation_size", "Validation texts"),
    "dropout": ("dropout", "Dropout"),
    "calibrated-acquisition": ("calibrate", "Scaled before acquisition"),
}
_STOPPING = frozenset({"max_epochs", "stop_after"})


def varied_field(name: str) -> Callable[[Results], Table | None]:
    """The table of a study that varies this one field of the protocol."""
    field, heading = FIELDS[name]

    def table(results: Results) -> Table | None:
        if _fields(results.folder.study) != {field}:
            return None
        return _varied(results, name, heading, lambda variant: _value(variant.get(field, "as it is")))

    return table


def early_stopping(results: Results) -> Table | None:
    """A fixed number of epochs a round, or as many as validation asks for."""
    fields = _fields(results.folder.study)
    if not fields or not fields <= _STOPPING:
        return None
    return _varied(results, "early-stopping", "Training", _stopping)


def variants(results: Results) -> Table | None:
    """Whatever else a study varies, by its name."""
    fields = _fields(results.folder.study)
    if not fields or fields in ({field} for field, _ in FIELDS.values()) or fields <= _STOPPING:
        return None
    return _varied(results, "variants", "Variant", lambda variant: variant_name(variant) or "as it is")


def samplers(results: Results) -> Table | None:
    """How the batch is chosen."""
    acquisitions = results.folder.study.acquisitions
    if len(acquisitions) < 2:
        return None
    return _by(
        results, "samplers", "acquisition", "Acquisition", {name: acquisition_name(name) for name in acquisitions}
    )


def _varied(results: Results, name: str, heading: str, said: Callable[[Variant], str]) -> Table | None:
    return _by(results, name, "variant", heading, {variant_name(one): said(one) for one in results.folder.study.vary})


def _by(results: Results, name: str, factor: str, heading: str, labels: Mapping[str, str]) -> Table | None:
    rows, split = results.rows, results.split
    if not rows:
        return None
    caption = (
        f"By {heading[:1].lower()}{heading[1:]}: mean ± std over {seeds_said(rows)}; t* is over the runs that fired. "
        f"{SECONDS_NOTE}"
    )
    measures = (F1.on(split), NLL.on(split), *COST, EPOCHS, FIRE_RATE, T_STAR)
    return Grid(name, caption, measures, (factor, "schedule"), (heading, "Method"), {factor: labels}).table(rows)


def _fields(study: Study) -> set[str]:
    """The protocol fields in which the study's variants differ."""
    named = {name for variant in study.vary for name in variant}
    return {name for name in named if len({repr(variant.get(name, _fields)) for variant in study.vary}) > 1}


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
