"""Which signal? Each in a hybrid schedule of its own, and whether they move together."""

from __future__ import annotations

from hybridal.evidence.formats import fixed, threshold
from hybridal.evidence.grid import (
    COST,
    F1,
    FIRE_RATE,
    NLL,
    SECONDS_NOTE,
    T_STAR,
    Grid,
    seeds_said,
    setting_keys,
    settings,
)
from hybridal.evidence.names import signal_name
from hybridal.evidence.results import Results, Run, complete_runs
from hybridal.evidence.select import FINETUNE, RETRAIN, distinct, hybrids, those, values
from hybridal.evidence.statistics.rounds import signal_correlation
from hybridal.evidence.table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one, rate, table_of

# What our implementation looks at; one pass over validation serves early stopping and every signal that needs it.
_LOOKS_AT = {
    "accuracy": ("performance", "answers on validation"),
    "f1": ("performance", "answers on validation"),
    "loss": ("performance", "answers on validation"),
    "gradient-norm": ("performance", "gradients on validation"),
    "alpha": ("model", "weights"),
    "alpha-tail": ("model", "weights"),
    "weight-distance": ("model", "weights"),
    "cka": ("model", "features on validation"),
    "nc": ("model", "features on validation"),
    "nc-labelled": ("model", "features of the labelled pool"),
    "agreement": ("model", "answers on unlabelled texts"),
    "divergence": ("model", "probabilities of unlabelled texts"),
    "drift": ("model", "answers on unlabelled texts, beside a frozen encoder's"),
}


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
    rows = _compared(results)
    sections = []
    for keys, members in settings(rows):
        lines: list[Row] = []
        for spec, schedule in hybrids(distinct(rows, "schedule")).items():
            mine, signal = those(members, schedule=spec), schedule.signal
            words = [Entry(said) for said in (signal_name(signal), *_LOOKS_AT.get(signal, ("–", "–")))]
            rule = [one(schedule.epsilon, threshold), one(schedule.patience, fixed(0))]
            fired = rate(values(mine, "fired")), mean_of(values(mine, "t_star"), fixed(1)) if mine else MISSING
            lines.append((*words, *rule, *fired))
        sections.append((keys, lines))
    columns = [*map(Column, ("Signal", "Kind", "Looks at")), Column("ε", ONE), Column("k", ONE)]
    columns += [Column("Fire rate", MEAN), Column("Switch round t*", MEAN)]
    caption = "Signals over all tasks and seeds: the share of runs that fired, and the mean switch round of those."
    return table_of("signal-summary", caption, columns, sections, setting_keys(rows))


def _compared(results: Results) -> list[Run]:
    """The runs of Retrain, FineTune and the hybrids, where there are several signals with one setting each."""
    watching = hybrids(distinct(results.rows, "schedule"))
    signals = {schedule.signal for schedule in watching.values()}
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
