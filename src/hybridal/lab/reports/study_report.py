"""The report of a study: one page, and its tables and figures as files. A catalogue lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_plan import sharing
from hybridal.lab.study.study_results import FINETUNE, RETRAIN, Results, complete_runs, results, rules
from hybridal.reports.display_names import schedule_name
from hybridal.reports.number_formats import count, counted, score
from hybridal.reports.report_page import Page, Panel, Part, about_tables, render
from hybridal.reports.report_table import Table
from hybridal.reports.story import guessing
from hybridal.reports.table_formats import write_tables
from hybridal.system.files import write_whole

if TYPE_CHECKING:
    from hybridal.reports.figure_style import Drawn

MakeTable = Callable[[Results], Table | None]

# More schedules make the summary too long.
MAX_NAMED_SCHEDULES = 4


@dataclass(frozen=True)
class Catalogue:
    """The tables and figures of a report, in its order; each is None if the study lacks the data.

    Attributes:
        tables: Functions that make a table from results, by name.
        figures: Function that yields figures with their names.
        front: Names of the tables at the top of the page; the others are folded.
    """

    tables: Mapping[str, MakeTable]
    figures: Callable[[Results], Iterable[tuple[str, Drawn | None]]]
    front: Sequence[str] = ()

    def __add__(self, other: Catalogue) -> Catalogue:
        """Append a catalogue. If both have an entry of the same name, the second one is used."""

        def figures(found: Results) -> Iterator[tuple[str, Drawn | None]]:
            yield from self.figures(found)
            yield from other.figures(found)

        front = tuple(dict.fromkeys((*self.front, *other.front)))
        return Catalogue({**self.tables, **other.tables}, figures, front)


def all_tables(found: Results, catalogue: Catalogue) -> dict[str, Table]:
    """Return every table that the study has the data for, by name."""
    made = {name: make(found) for name, make in catalogue.tables.items()}
    return {name: table for name, table in made.items() if table is not None}


def all_figures(found: Results, catalogue: Catalogue) -> dict[str, Drawn]:
    """Return every figure that the study has the data for, by name."""
    if found.runs.empty:
        return {}
    return {name: drawn for name, drawn in catalogue.figures(found) if drawn is not None}


def write_with_catalogue(
    folder: StudyFolder, catalogue: Catalogue, first: Mapping[str, MakeTable] | None = None
) -> Path:
    """Write the self-contained page `report.html`, and the files in `report/tables` and `report/figures`.

    `first` are additional tables for this report only; they come before those of the catalogue.
    """
    from hybridal.reports.figure_style import save

    found = results(folder)
    asked = {name: make(found) for name, make in (first or {}).items()}
    tables = {name: table for name, table in asked.items() if table is not None}
    if len(found.runs):
        tables |= all_tables(found, catalogue)
    figures = all_figures(found, catalogue)
    write_tables(tables, folder.path / "report" / "tables")
    save(figures, folder.path / "report" / "figures")
    target = folder.path / "report.html"
    write_whole(target, render(study_page(found, tables, figures, catalogue.front)))
    return target


def study_page(
    found: Results, tables: Mapping[str, Table], figures: Mapping[str, Drawn], front: Sequence[str] = ()
) -> Page:
    """Return the page of a study, from its complete runs."""
    folder = found.folder
    return Page(
        title=f"Study: {folder.study.name}",
        kicker="Report of a study of active-learning schedules",
        story=study_story(found),
        cost=_sharing_story(folder),
        front=[Part(_title(name), tables[name]) for name in front if name in tables],
        panels=[Panel(drawn.heading, drawn.reading, drawn.svg(name)) for name, drawn in figures.items()],
        back=[Part(_title(name), table, folded=True) for name, table in tables.items() if name not in front],
        back_title="All tables",
        about=about_tables(
            {"settings": folder.study.to_json(), **{k: v for k, v in folder.about().items() if k != "study"}}
        ),
    )


def study_story(found: Results) -> list[str]:
    """Return sentences about progress and about what each schedule saves against retraining."""
    runs, folder = found.runs, found.folder
    if not len(runs):
        return ["No run is complete yet: there is nothing to report so far."]
    factors = ("task", "backbone", "acquisition", "seed")
    sizes = ", ".join(counted(int(runs[name].nunique()), name) for name in factors)
    told = [f"{counted(len(runs), 'run')} of {count(folder.study.runs)} are complete ({sizes})."]
    failed = sum(folder.error(cell) is not None for cell in folder.cells)
    if failed:
        told.append(f"{counted(failed, 'cell')} failed.")
    columns = {"steps": "steps", "nll": f"{found.split}_nll", "f1": f"{found.split}_f1"}
    means = {
        str(spec): {name: float(rows[column].mean()) for name, column in columns.items()}
        for spec, rows in runs.groupby("schedule", sort=False)
    }
    guesses, lengths = _guesses(folder), runs["schedule"].value_counts().to_dict()
    multi_label = "validation_micro_f1" in runs or "test_micro_f1" in runs
    told += [_guessed(spec, guessed, lengths[spec], multi_label) for spec, guessed in guesses.items()]
    base = means.pop(RETRAIN, None)
    switching = [spec for spec in means if spec == FINETUNE or rules([spec])]
    named = switching if len(means) > MAX_NAMED_SCHEDULES else list(means)
    # Savings of a model that only guesses are worthless.
    useful = [spec for spec in named[:MAX_NAMED_SCHEDULES] if guesses[spec] < lengths[spec]]
    if base is None or guesses[RETRAIN] == lengths[RETRAIN]:
        return told
    return told + [_against(schedule_name(spec), means[spec], base) for spec in useful]


def _guesses(folder: StudyFolder) -> Counter[str]:
    """Count, by schedule, the complete runs whose last model is not shown to be better than guessing."""
    return Counter(spec for _, spec, history in complete_runs(folder) if guessing(history))


def _guessed(spec: str, guesses: int, runs: int, multi_label: bool = False) -> str:
    some = f"{guesses} of its {count(runs)} models {'is' if guesses == 1 else 'are'} not"
    which = "its model is not" if runs == 1 else "none of its models is" if guesses == runs else some
    guess = "giving every text the same classes" if multi_label else "guessing the most frequent class"
    return f"{schedule_name(spec)}: {which} shown to be better than {guess}."


def _against(name: str, row: Mapping[str, float], base: Mapping[str, float]) -> str:
    steps = f"{abs(1 - row['steps'] / base['steps']):.0%}" if base["steps"] else "0%"
    less = "fewer" if row["steps"] < base["steps"] else "more"
    taken = "as many optimiser steps as" if steps == "0%" else f"{steps} {less} optimiser steps than"
    return (
        f"{name}: {taken} Retrain, NLL {score(row['nll'])} against {score(base['nll'])}, "
        f"macro-F1 {score(row['f1'])} against {score(base['f1'])}."
    )


def _title(name: str) -> str:
    """A table's name as a heading: `ece-by-round` is ECE by round."""
    words = [word.upper() if word in ("f1", "nll", "ece") else word for word in name.split("-")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def _sharing_story(folder: StudyFolder) -> list[str]:
    factor = sharing(folder)
    if factor is None:
        return []
    computed = sum(len(folder.rounds_by_sequence(cell)) for cell in folder.cells)
    return [
        f"Schedules of a cell share the rounds in which they decided alike: {count(computed)} rounds were computed, a "
        f"sharing factor of {score(factor, 2)}. Each schedule's cost is that of its own rounds, shared or not. Seconds "
        "compare only within one machine; steps and tokens are counted."
    ]
