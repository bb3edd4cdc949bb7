"""What changes when one thing does: a field of the protocol, how batches are chosen, the signal that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hybridal.evidence.formats import NONE, fixed, threshold
from hybridal.evidence.grid import COST, EPOCHS, F1, FIRE_RATE, NLL, SECONDS_NOTE, T_STAR, Grid, sectioned, seeds_said
from hybridal.evidence.names import acquisition_name
from hybridal.evidence.results import (
    FINETUNE,
    RETRAIN,
    Results,
    Run,
    complete_runs,
    rules,
    those,
    values,
    variant_name,
)
from hybridal.evidence.statistics.rounds import signal_correlation
from hybridal.evidence.table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one, rate, table_of
from hybridal.signals import Signal
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
    labels = {name: acquisition_name(name) for name in acquisitions}
    return _by(results, "samplers", "acquisition", "Acquisition", labels)


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


def signal_ablation(results: Results) -> Table | None:
    """Per signal and task: F1, NLL, cost, fire rate and switch round."""
    rows = _compared(results)
    if not rows:
        return None
    caption = (
        f"Signals, each in a hybrid schedule of its own: mean ± std over {seeds_said(rows)}, share of runs that fired, "
        f"and the switch round of those. {SECONDS_NOTE}"
    )
    measures = (F1.on(results.split), NLL.on(results.split), *COST, FIRE_RATE, T_STAR)
    return Grid("signal-ablation", caption, measures).table(rows)


def signal_summary(results: Results) -> Table | None:
    """Per signal, what it looks at, how often it fired and when."""

    def lines(members: list[Run]) -> Iterator[Row]:
        for spec, rule in rules(results.specs).items():
            mine = those(members, schedule=spec)
            words = [rule.signal.title, _kind(rule.signal), rule.signal.looks_at or NONE]
            asked = [one(rule.detector.epsilon, threshold), one(rule.detector.patience, fixed(0))]
            fired = rate(values(mine, "fired")), mean_of(values(mine, "t_star"), fixed(1)) if mine else MISSING
            yield (*map(Entry, words), *asked, *fired)

    columns = [*map(Column, ("Signal", "Kind", "Looks at")), Column("ε", ONE), Column("k", ONE)]
    columns += [Column("Fire rate", MEAN), Column("Switch round t*", MEAN)]
    caption = "Signals over all tasks and seeds: the share of runs that fired, and the mean switch round of those."
    return sectioned("signal-summary", caption, columns, _compared(results), lines)


def _kind(signal: Signal) -> str:
    """Whether it asks how good the answers are, or what the model is like."""
    if not signal.looks_at:
        return NONE
    return "performance" if signal.needs_validation and not signal.needs_features else "model"


def _compared(results: Results) -> list[Run]:
    """The runs of Retrain, FineTune and the hybrids, where there are several signals with one setting each."""
    watching = rules(results.specs)
    signals = {rule.signal.name for rule in watching.values()}
    if len(signals) < 2 or len(signals) < len(watching):
        return []
    return [row for row in results.rows if row["schedule"] in (RETRAIN, FINETUNE, *watching)]


def signal_correlations(results: Results) -> Table | None:
    """Spearman's ρ between the signals that Retrain's runs recorded."""
    trunks = [history for _, spec, history in complete_runs(results.folder) if spec == RETRAIN]
    facts = [fact for history in trunks for fact in history]
    shared = [name for name in (trunks[0][-1].changes if trunks else ()) if all(name in fact.changes for fact in facts)]
    if len(shared) < 2:
        return None
    found = signal_correlation(trunks, shared)
    rows: list[Row] = [
        (Entry(name), *(one(value, fixed(2)) for value in line)) for name, line in zip(shared, found.rho, strict=True)
    ]
    caption = (
        f"Spearman's ρ between the signals' changes, over {found.n} rounds of {len(trunks)} Retrain runs. Rounds of a "
        "run are no independent draws, so there is no p."
    )
    columns = [Column("Signal"), *(Column(name, ONE) for name in shared)]
    return table_of("signal-correlations", caption, columns, [((), rows)])
