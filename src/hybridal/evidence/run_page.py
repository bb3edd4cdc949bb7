"""What a report says about one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridal.core.facts import Round
from hybridal.evidence.about import about_tables, task_name
from hybridal.evidence.detectors import detectors_of
from hybridal.evidence.formats import count, counted, score
from hybridal.evidence.looks import look, schedule_name
from hybridal.evidence.page import Page, Section
from hybridal.evidence.panels import panels
from hybridal.evidence.round_table import round_table
from hybridal.evidence.story import cost_story, outlook, story
from hybridal.evidence.summary import final, total_cost
from hybridal.evidence.table import ROUNDS_NOTE, Cell
from hybridal.schedules import Schedule


def run_page(history: Sequence[Round], schedule: Schedule, about: Mapping[str, Any]) -> Page:
    """What there is to say about one run."""
    histories, schedules = {schedule.spec: history}, {schedule.spec: schedule}
    detectors = detectors_of(histories, schedules)
    rounds = Section("All rounds", ROUNDS_NOTE, round_table(history, detectors))
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


def _tiles(history: Sequence[Round]) -> list[tuple[str, Cell, str]]:
    """The few numbers that most people look for first."""
    if not history:
        return []
    last, found, tiles = history[-1], final(history), []
    if found is not None:
        split, metrics = found
        scaled = f"{score(metrics.nll_scaled)} scaled"
        tiles = [
            ("Macro-F1", Cell(score(metrics.f1), metrics.f1), split),
            (
                "Accuracy",
                Cell(score(metrics.accuracy), metrics.accuracy),
                f"{count(metrics.right)} of {count(metrics.n)}",
            ),
            ("NLL", Cell(score(metrics.nll), metrics.nll), scaled),
        ]
    cost = total_cost(history)
    return [
        *tiles,
        ("Labels", Cell(count(last.labels), last.labels), counted(len(history), "round")),
        ("Steps", Cell(count(cost.steps), cost.steps), counted(cost.epochs, "epoch")),
    ]
