"""The report of a run, and of a comparison of schedules, as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridal.core.facts import Round
from hybridal.evidence.formats import count, counted, score
from hybridal.evidence.history import Histories, detectors_of, final, shared_split, sharing, total_cost
from hybridal.evidence.names import distinct_names, look, schedule_name
from hybridal.evidence.page import Page, Part, about_tables, render, task_name
from hybridal.evidence.panels import panels
from hybridal.evidence.run_tables import comparison_table, round_table
from hybridal.evidence.story import cost_story, outlook, story
from hybridal.evidence.table import Entry, Table, measured, whole
from hybridal.schedules import Schedule, make_schedule
from hybridal.system.files import write_whole

if TYPE_CHECKING:
    from hybridal.runs.record import RunFolder


def write_report(folder: RunFolder) -> Path:
    """Writes `report.html` into a run's folder, whole; the run may still be going on."""
    about = folder.about()
    return write_run(folder.history(), make_schedule(about["settings"]["schedule"]), about, folder.report)


def write_run(history: Sequence[Round], schedule: Schedule, about: Mapping[str, Any], target: Path) -> Path:
    """Writes the report of these rounds; `about` is what `run.json` says."""
    write_whole(target, render(run_page(history, schedule, about)))
    return target


def write_comparison(
    histories: Histories, schedules: Sequence[Schedule], about: Mapping[str, Any], target: Path
) -> Path:
    """Writes the report of several schedules of one cell; `histories` are by the schedules' specs."""
    write_whole(target, render(comparison_page(histories, schedules, about)))
    return target


def run_page(history: Sequence[Round], schedule: Schedule, about: Mapping[str, Any]) -> Page:
    """What there is to say about one run."""
    histories, schedules = {schedule.spec: history}, {schedule.spec: schedule}
    rounds = Part("All rounds", round_table(history, detectors_of(histories, schedules)))
    rules, stops = about.get("protocol", {}), about.get("settings", {}).get("stop") == "auto"
    advice = outlook(history, len(about.get("task", {}).get("classes", ())), stops)
    return Page(
        title=f"{schedule_name(schedule.spec)} on {task_name(about)}",
        kicker="Report of an active-learning run",
        story=story(history, schedule, rules.get("rounds"), rules.get("probe_until", 0), advice, stops),
        cost=cost_story(history),
        tiles=_tiles(history),
        token=look(schedule.spec).token,
        panels=panels(histories, schedules),
        back=[rounds] if history else [],
        about=about_tables(about),
        chosen=[(fact.round, fact.acquired) for fact in history if fact.acquired],
    )


def _tiles(history: Sequence[Round]) -> list[tuple[str, Entry, str]]:
    """The few numbers that most people look for first."""
    if not history:
        return []
    found, cost, tiles = final(history), total_cost(history), []
    if found is not None:
        split, metrics = found
        right = f"{count(metrics.right)} of {count(metrics.n)}"
        tiles.append(("Macro-F1", measured(metrics.f1), split))
        tiles.append(("Accuracy", measured(metrics.accuracy), right))
        tiles.append(("NLL", measured(metrics.nll), f"{score(metrics.nll_scaled)} scaled"))
    tiles.append(("Labels", whole(history[-1].labels), counted(len(history), "round")))
    return [*tiles, ("Steps", whole(cost.steps), counted(cost.epochs, "epoch"))]


def comparison_page(histories: Histories, schedules: Sequence[Schedule], about: Mapping[str, Any]) -> Page:
    """What there is to say about several schedules of one cell."""
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
    """Who came out best in what, as the table has it."""
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
