"""Which signal? Each in a hybrid schedule of its own."""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.evidence.formats import threshold
from hybridal.evidence.looks import schedule_name
from hybridal.evidence.results import Results
from hybridal.evidence.tables._entries import fixed, mean_of, one, rate
from hybridal.evidence.tables._grid import Grid, setting_keys, settings
from hybridal.evidence.tables._runs import FINETUNE, RETRAIN, Run, hybrids, runs_of, split_of, those, values
from hybridal.evidence.tables.measures import COST, F1, FIRE_RATE, NLL, SECONDS_NOTE, T_STAR, seeds_said
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

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


def signal_ablation(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Per signal and task: F1, NLL, cost, fire rate and switch round.

    >>> from hybridal.evidence.tables._example import example
    >>> [section.keys[1] for section in signal_ablation(*example()).sections][-2:]
    ['Fire rate', 'Switch round t*']
    """
    rows = _compared(runs_of(results))
    if not rows:
        return None
    split = split_of(rows)
    caption = (
        f"Signals, each in a hybrid schedule of its own: mean ± std over {seeds_said(rows)}, share of runs that fired, "
        f"and the switch round of those. {SECONDS_NOTE}"
    )
    measures = (F1.on(split), NLL.on(split), *COST, FIRE_RATE, T_STAR)
    return Grid("signal-ablation", caption, measures).table(rows)


def signal_summary(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Per signal, what it looks at, how often it fired and when.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in signal_summary(*example()).sections[0].rows[0]]
    ['ΔAcc', 'performance', 'answers on validation', '0.01', '2', '100%', '4.8 ± 0.4']
    """
    rows = _compared(runs_of(results))
    if not rows:
        return None
    watching = hybrids(rows)
    sections = []
    for keys, members in settings(rows):
        lines: list[Row] = []
        for spec, schedule in watching.items():
            mine = those(members, schedule=spec)
            kind, looks_at = _LOOKS_AT.get(schedule.signal.name, ("–", "–"))
            words = [Entry(_signal(spec)), Entry(kind), Entry(looks_at)]
            numbers = [one(schedule.epsilon, threshold), one(schedule.patience, fixed(0))]
            lines.append(
                (*words, *numbers, rate(values(mine, "fired")), mean_of(values(mine, "t_star"), fixed(1)))
                if mine
                else (*words, *numbers, MISSING, MISSING)
            )
        sections.append(Section(keys, tuple(lines)))
    columns = [Column("Signal"), Column("Kind"), Column("Looks at"), Column("ε", ("value",)), Column("k", ("value",))]
    columns += [Column("Fire rate", MEAN), Column("Switch round t*", MEAN)]
    caption = "Signals over all tasks and seeds: the share of runs that fired, and the mean switch round of those."
    return Table("signal-summary", caption, tuple(columns), tuple(sections), setting_keys(rows))


def _compared(rows: Sequence[Run]) -> list[Run]:
    """Retrain, FineTune and the hybrids, where there are several signals with one setting each."""
    watching = hybrids(rows)
    signals = {schedule.signal.name for schedule in watching.values()}
    if len(signals) < 2 or len(signals) < len(watching):
        return []
    kept = [RETRAIN, FINETUNE, *watching]
    return [row for row in rows if row["schedule"] in kept]


def _signal(spec: str) -> str:
    return schedule_name(spec).removeprefix("HybridAL ")
