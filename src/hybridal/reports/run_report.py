"""The report of a run, and of a comparison of schedules, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridal.core.rounds import Metrics, MultiLabelMetrics, Round
from hybridal.measures.advice import ALL_LABELLED
from hybridal.measures.certainty import TOO_FEW, interval, known, known_f1, wilson
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import backbone_name, distinct_names, schedule_name, style_of
from hybridal.reports.history_summary import (
    Histories,
    changes,
    detectors_of,
    final,
    shared_split,
    sharing,
    short_sequence,
    signal_names,
    total_cost,
)
from hybridal.reports.number_formats import NONE, change, count, counted, duration, fixed, joined, score
from hybridal.reports.report_measures import class_table, has_several_labels, measures_of
from hybridal.reports.report_page import Page, Part, about_tables, render, task_name
from hybridal.reports.report_panels import panels
from hybridal.reports.report_table import MISSING, ONE, Column, Entry, Row, Section, Table, one, ranked
from hybridal.reports.story import cost_story, guessing, outlook, story
from hybridal.schedules import Schedule, make_schedule, switched_after
from hybridal.system.files import write_whole

if TYPE_CHECKING:
    from hybridal.runs.record import RunFolder

UNFOLDED_CLASSES = 30
_COUNT, _SCORE = fixed(0), fixed(3)
ROUNDS_NOTE = (
    "Measures are on validation unless they say otherwise; a dot marks a change below ε. A dash stands for a measure "
    "that was not taken, or that the texts are too few to tell."
)


def write_report(folder: RunFolder) -> Path:
    """Write `report.html` into a run's folder, atomically; the run may still be in progress."""
    about = folder.about()
    return write_run(folder.history(), make_schedule(about["settings"]["schedule"]), about, folder.report)


def write_run(
    history: Sequence[Round], schedule: Schedule, about: Mapping[str, Any], target: Path, left: int | None = None
) -> Path:
    """Write the report of these rounds.

    Args:
        history: The rounds.
        schedule: The schedule that decided their updates.
        about: What `run.json` contains.
        target: The file to write.
        left: How many texts have no label; without it, as many as the rounds leave of the task's texts.

    Returns:
        The file.
    """
    write_whole(target, render(run_page(history, schedule, about, left)))
    return target


def write_comparison(
    histories: Histories, schedules: Sequence[Schedule], about: Mapping[str, Any], target: Path
) -> Path:
    """Write the report of several schedules of one cell; `histories` are by the schedules' specs."""
    write_whole(target, render(comparison_page(histories, schedules, about)))
    return target


def run_page(history: Sequence[Round], schedule: Schedule, about: Mapping[str, Any], left: int | None = None) -> Page:
    """Return the page of one run."""
    histories, schedules = {schedule.spec: history}, {schedule.spec: schedule}
    rounds = Part("All rounds", round_table(history, detectors_of(histories, schedules)))
    classes = _class_parts(history, about.get("task", {}).get("classes", ()))
    rules, advice = about.get("protocol", {}), outlook(history, about, left)
    stops = advice == ALL_LABELLED or about.get("settings", {}).get("stop") == "auto"
    planned = None if "key" in about else rules.get("rounds")  # a learner is taught as long as its user likes
    return Page(
        title=f"{schedule_name(schedule.spec)} on {task_name(about)}",
        kicker="Report of an active-learning run",
        story=story(history, schedule, planned, rules.get("probe_until", 0), advice, stops),
        cost=cost_story(history),
        tiles=_tiles(history),
        token=style_of(schedule.spec).token,
        panels=panels(histories, schedules),
        back=[rounds, *classes] if history else [],
        about=about_tables(about),
        chosen=[(record.round, record.acquired) for record in history if record.acquired],
    )


def _class_parts(history: Sequence[Round], names: Sequence[str]) -> list[Part]:
    """The table of classes, if a text may have several; many classes are folded."""
    found = final(history)
    split, metrics = found or ("", None)
    if not isinstance(metrics, MultiLabelMetrics) or len(names) != len(metrics.given):
        return []
    table = class_table(metrics, names, history[-1].thresholds, split)
    return [Part(f"Each class, on {split}", table, folded=len(names) > UNFOLDED_CLASSES)]


def _tiles(history: Sequence[Round]) -> list[tuple[str, Entry, str]]:
    """The key figures at the top of the page."""
    if not history:
        return []
    found, cost, tiles = final(history), total_cost(history), []
    if found is not None:
        split, metrics = found
        low, high = wilson(metrics.right, metrics.n)
        right = f"{count(metrics.right)} of {count(metrics.n)}; {score(low, 2)} to {score(high, 2)}"
        tiles.append(("Macro-F1", one(known(metrics, "f1"), _SCORE), f1_note(metrics, split)))
        if isinstance(metrics, MultiLabelMetrics):
            bounds = interval(metrics, "micro_f1")
            note = f"{score(bounds[0], 2)} to {score(bounds[1], 2)}" if bounds else TOO_FEW
            tiles.append(("Micro-F1", one(known(metrics, "micro_f1"), _SCORE), note))
        tiles.append((metrics.accuracy_name.capitalize(), one(metrics.accuracy, _SCORE), right))
        tiles.append(("NLL", one(metrics.nll, _SCORE), f"{score(metrics.nll_scaled)} scaled"))
    tiles.append(("Labels", one(history[-1].labels, _COUNT), counted(len(history), "round")))
    return [*tiles, ("Steps", one(cost.steps, _COUNT), counted(cost.epochs, "epoch"))]


def f1_note(metrics: Metrics, split: str) -> str:
    """The note below a macro-F1: its split and interval, or why there is none."""
    found = known_f1(metrics)
    if found is None:
        return TOO_FEW if metrics.support else split
    over = "" if found.supported == found.classes else f", {found.supported} of {found.classes} classes"
    return f"{split}{over}; {score(found.low, 2)} to {score(found.high, 2)}"


def comparison_page(histories: Histories, schedules: Sequence[Schedule], about: Mapping[str, Any]) -> Page:
    """Return the page of several schedules of one cell."""
    by_spec, names = {schedule.spec: schedule for schedule in schedules}, distinct_names(histories)
    table = comparison_table(histories, by_spec)
    rounds = {
        spec: round_table(history, detectors_of({spec: history}, by_spec))
        for spec, history in histories.items()
        if history
    }
    return Page(
        title=f"{counted(len(histories), 'schedule')} on {task_name(about)}",
        kicker="Comparison of active-learning schedules",
        story=_comparison_story(histories, table),
        cost=_sharing_story(histories),
        front=[Part("Side by side", table)],
        panels=panels(histories, by_spec),
        back=[Part(f"All rounds: {names[spec]}", own, folded=True) for spec, own in rounds.items()],
        about=about_tables(about),
    )


def _comparison_story(histories: Histories, table: Table) -> list[str]:
    """Which schedule was best in which measure, as in the table."""
    known = [history for history in histories.values() if history]
    if not known:
        return ["No round is complete yet: there is nothing to compare so far."]
    labels = max(history[-1].labels for history in known)
    rounds = max(len(history) for history in known)
    told = [
        f"{counted(len(histories), 'schedule')} on the same task, up to {counted(rounds, 'round')} and "
        f"{counted(labels, 'label')}. They differ only in how the model is brought up to date in each round."
    ]
    columns = {column.title: at for at, column in enumerate(table.columns)}
    wins = {"highest macro-F1": "Macro-F1", "lowest NLL": "NLL", "fewest optimiser steps": "Steps"}
    guesses = [name for spec, name in distinct_names(histories).items() if guessing(histories[spec])]
    if guesses:
        how = "" if has_several_labels(history[-1] for history in known) else " the most frequent class"
        told.append(f"Not shown to be better than guessing{how}: {joined(guesses)}.")
    for what, heading in wins.items():
        best = [row for row in table.rows() if row[columns[heading]].best]
        if best:
            where = f" on {shared_split(histories)}" if heading != "Steps" else ""
            names = ", ".join(row[0].text for row in best)
            told.append(f"The {what}{where}: {names} ({best[0][columns[heading]].text}).")
    return told


def _sharing_story(histories: Histories) -> list[str]:
    rounds, distinct = sharing(histories)
    if not distinct:
        return []
    return [
        f"Together the schedules have {counted(rounds, 'round')}, of which {count(distinct)} are distinct and had to "
        f"be computed: a sharing factor of {score(rounds / distinct, 2)}. The table has each schedule's own cost, "
        "shared or not."
    ]


def round_table(history: Sequence[Round], detectors: Mapping[str, Stabilisation]) -> Table:
    """All rounds of one run. `detectors` are by signal; a change below its ε is marked as stable."""
    signals, measures = signal_names({"": history}), measures_of(history)
    tested = any(record.test is not None for record in history)
    exact = "Test exact" if has_several_labels(history) else "Test acc."
    chosen = any(record.encoder is not None for record in history)
    columns = [_number("Round"), Column("Update"), _number("Labels", "that the model learnt from")]
    columns += [Column("Encoder", hint="chosen by the labels")] if chosen else []
    columns += [_number(measure.title, f"on validation; {measure.hint}") for measure in measures]
    columns += [_number("Brier", "on validation: squared error of the probabilities")]
    columns += [_number("T", "temperature fitted on validation")]
    columns += [_number(title, "on test") for title in ("Test F1", exact, "Test NLL") if tested]
    columns += [_number(f"Δ {name}", f"change of the signal '{name}' since the round before") for name in signals]
    columns += [_number("Steps", "optimiser steps"), _number("Tokens", "trained on")]
    columns += [_number("Epochs", "run, and the one that was kept")]
    columns += [_number("Training", "with the validation after each epoch"), _number("Whole round")]
    stable = {name: detectors[name].streaks(changes(history, name)) for name in signals if name in detectors}
    rows = []
    for at, record in enumerate(history):
        update = Entry(schedule_name(record.update), token=style_of(record.update).token)
        row = [one(record.round, _COUNT), update, one(record.labels, _COUNT)]
        row += [_encoder(record)] if chosen else []
        row += [_figure(record.validation, measure.name) for measure in measures]
        row += [one(getattr(record.validation, "brier", None), _SCORE), one(record.temperature, fixed(2))]
        row += [_figure(record.test, name) for name in ("f1", "accuracy", "nll")] if tested else []
        for name in signals:
            stays = bool(name in stable and stable[name][at])
            row.append(replace(one(record.changes.get(name), change), stable=stays))
        row += [one(record.cost.steps, _COUNT), one(record.cost.tokens, _COUNT)]
        row.append(Entry(f"{record.cost.epochs} ({record.kept_epoch})", (record.cost.epochs,)))
        spent = (record.training_time, sum(record.seconds.values()))
        row += [one(seconds if record.seconds else None, duration) for seconds in spent]
        rows.append(tuple(row))
    return Table("rounds", ROUNDS_NOTE, tuple(columns), (Section((), tuple(rows)),))


def comparison_table(histories: Histories, schedules: Mapping[str, Schedule]) -> Table:
    """Return one row per schedule with its final metrics and total cost; the best of each column is marked."""
    split, names = shared_split(histories), distinct_names(histories)
    measures = measures_of(record for history in histories.values() for record in history)
    columns = [Column("Schedule")]
    columns += [_number(measure.title, f"on {split}; {measure.hint}") for measure in measures]
    columns += [_number("Steps", "optimiser steps"), _number("Tokens", "trained on")]
    columns += [_number("Training time", "with the validation after each epoch")]
    columns += [
        _number("t*", "round in which the signal had stabilised"),
        Column("Updates", hint="the update of each round"),
    ]
    rows: list[Row] = []
    for spec, history in histories.items():
        found, cost = final(history, split), total_cost(history)
        row = [Entry(names[spec], hint=spec, token=style_of(spec).token)]
        row += [_figure(found[1] if found else None, measure.name) for measure in measures]
        spent = [record.training_time for record in history if record.seconds]
        row += [one(cost.steps, _COUNT), one(cost.tokens, _COUNT), one(sum(spent) if spent else None, duration)]
        row += [one(switched_after(schedules[spec], history) if spec in schedules else None, _COUNT)]
        row += [Entry(short_sequence(history) or NONE, hint=history[-1].update_sequence if history else "")]
        rows.append(tuple(row))
    # Runs that are not as far as others, or not better than guessing, are out of competition.
    longest = max((len(history) for history in histories.values()), default=0)
    level = [len(history) == longest and not guessing(history) for history in histories.values()]
    fair = [row for row, able in zip(rows, level, strict=True) if able]
    costs = range(len(measures) + 1, len(measures) + 4)
    higher = [at for at, measure in enumerate(measures, 1) if measure.higher]
    lower = [at for at, measure in enumerate(measures, 1) if not measure.higher]
    best = iter(ranked(ranked(fair, higher, higher=True), [*lower, *costs], higher=False))
    rows = [next(best) if able else row for row, able in zip(rows, level, strict=True)]
    note = f"Measures are those of the last round, on the {split} texts. The best of each column is marked with a star."
    if not all(level):
        note += " Schedules that have fewer rounds than others are not at their end and get no star."
    return Table("comparison", note, tuple(columns), (Section((), tuple(rows)),))


def _encoder(record: Round) -> Entry:
    """The encoder of a round, with the reason as a tooltip."""
    choice = record.encoder
    return MISSING if choice is None else Entry(backbone_name(choice.backbone), hint=choice.reason)


def _figure(metrics: Metrics | None, name: str) -> Entry:
    """A measure, with its 95% interval as a tooltip if it has one."""
    if metrics is None:
        return MISSING
    entry, bounds = one(known(metrics, name), _SCORE), interval(metrics, name)
    if entry is MISSING or bounds is None:
        return entry
    return replace(entry, hint=f"95% interval: {score(bounds[0])} to {score(bounds[1])}")


def _number(title: str, hint: str = "") -> Column:
    return Column(title, ONE, hint=hint)
