"""What a report says about a whole study."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.about import about_tables
from hybridal.evidence.formats import count, counted, score
from hybridal.evidence.looks import schedule_name
from hybridal.evidence.page import Page, Section
from hybridal.evidence.panel import Panel
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures import Drawn
from hybridal.evidence.svg import to_svg
from hybridal.evidence.table import Cell, Heading
from hybridal.evidence.table import Table as PageTable
from hybridal.evidence.tables.table import Entry, Table
from hybridal.study.folder import StudyFolder
from hybridal.study.plan import sharing

# What a reader looks for first; all other tables open on demand.
MANY = 4
FRONT = ("savings", "against-paper", "tuning-choice", "signal-summary", "noninferiority")


def study_page(
    folder: StudyFolder, results: Results, tables: Mapping[str, Table], figures: Mapping[str, Drawn]
) -> Page:
    """What there is to say about a study, from its complete runs."""
    return Page(
        title=f"Study: {folder.study.name}",
        kicker="Report of a study of active-learning schedules",
        story=story(folder, results),
        cost=_sharing(folder),
        front=[section(tables[name]) for name in FRONT if name in tables],
        panels=[
            Panel(drawn.heading, drawn.reading, to_svg(drawn.figure, drawn.alt, name))
            for name, drawn in figures.items()
        ],
        back=[section(table, folded=True) for name, table in tables.items() if name not in FRONT],
        back_title="All tables",
        about=about_tables(
            {"settings": folder.study.to_json(), **{k: v for k, v in folder.about().items() if k != "study"}}
        ),
    )


def story(folder: StudyFolder, results: Results) -> list[str]:
    """How far the study is, and what each schedule saves against retraining."""
    runs = results.runs
    if not len(runs):
        return ["No run is complete yet: there is nothing to report so far."]
    factors = ("task", "backbone", "acquisition", "seed")
    sizes = ", ".join(counted(int(runs[name].nunique()), name) for name in factors)
    told = [f"{counted(len(runs), 'run')} of {count(folder.study.runs)} are complete ({sizes})."]
    failed = sum(folder.error(cell) is not None for cell in folder.cells)
    if failed:
        told.append(f"{counted(failed, 'cell')} failed.")
    columns = ("steps", "test_nll", "test_f1")
    means = {
        str(spec): {name: float(rows[name].mean()) for name in columns}
        for spec, rows in runs.groupby("schedule", sort=False)
    }
    base = means.pop("retrain", None)
    # In the order of the paper's question: what does switching save, and what does it cost?
    switching = [spec for spec in means if spec.startswith(("finetune", "hybrid"))]
    named = switching if len(means) > MANY else list(means)
    return told + [_against(schedule_name(spec), means[spec], base) for spec in named[:MANY] if base]


def _against(name: str, row: Mapping[str, float], base: Mapping[str, float]) -> str:
    saved = 1 - row["steps"] / base["steps"]
    return (
        f"{name}: {abs(saved):.0%} {'fewer' if saved >= 0 else 'more'} optimiser steps than Retrain, "
        f"NLL {score(row['test_nll'])} against {score(base['test_nll'])}, "
        f"macro-F1 {score(row['test_f1'])} against {score(base['test_f1'])}."
    )


def section(table: Table, folded: bool = False) -> Section:
    """A table of the study as a part of the page."""
    keys = [Heading(key, words=True) for key in table.keys]
    headings = [Heading(f"{column.group} {column.title}".strip(), words=not column.parts) for column in table.columns]
    rows = [
        [*(Cell(key) for key in part.keys), *(_cell(entry) for entry in row)]
        for part in table.sections
        for row in part.rows
    ]
    return Section(_title(table.name), table.caption, PageTable([*keys, *headings], rows), folded)


def _title(name: str) -> str:
    """A table's name as a heading.

    >>> _title("endpoint-f1"), _title("ece-by-round")
    ('Endpoint F1', 'ECE by round')
    """
    words = [word.upper() if word in ("f1", "nll", "ece") else word for word in name.split("-")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def _cell(entry: Entry) -> Cell:
    value = entry.numbers[0] if entry.numbers else None
    return Cell(entry.text + entry.marks, value, "best" if entry.best or entry.chosen else "")


def _sharing(folder: StudyFolder) -> list[str]:
    factor = sharing(folder)
    if factor is None:
        return []
    computed = sum(len(folder.facts(cell)) for cell in folder.cells)
    return [
        f"Schedules of a cell share the rounds in which they decided alike: {count(computed)} rounds were computed, a "
        f"sharing factor of {score(factor, 2)}. Each schedule's cost is that of its own rounds, shared or not. Seconds "
        "compare only within one machine; steps and tokens are counted."
    ]
