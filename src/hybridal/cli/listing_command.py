"""`hybridal list`: runs, and the names that options take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.errors import UserError, one_line
from hybridal.registry import Registry, hint_or_list

if TYPE_CHECKING:
    from hybridal.backbones.catalogue import Entry


def listing(
    what: Annotated[
        str, typer.Argument(help="runs, tasks, backbones, protocols, schedules, signals, acquisitions or trackers.")
    ] = "runs",
    folder: Annotated[Path, typer.Option(help="Folder with the runs.")] = Path("runs"),
    json: o.Json = False,
) -> None:
    """List runs with their results, or the names that options take, with descriptions."""
    from hybridal.system.files import strict_json

    rows = _runs(folder, exact=json) if what == "runs" else _names(what)
    if json:
        typer.echo(strict_json(rows))
        return
    if not rows:
        typer.echo(f"There are no runs in {folder}; start one with `hybridal run`.")
        return
    from rich.markup import escape
    from rich.table import Table

    from hybridal.cli.screen import wide_console

    table = Table(*rows[0], box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row.values()))
    wide_console().print(table)


def _names(what: str) -> list[dict[str, str]]:
    from hybridal.acquisition import ACQUISITIONS
    from hybridal.backbones.catalogue import CATALOGUE
    from hybridal.core.rules import PRESETS
    from hybridal.schedules import SCHEDULES, schedule_names
    from hybridal.signals import SIGNALS
    from hybridal.tasks import task_names
    from hybridal.trackers import TRACKERS
    from hybridal.updates import UPDATES

    def plain(names: Iterable[str]) -> list[dict[str, str]]:
        return [{"name": name} for name in names]

    def described(registry: Registry[Any], names: Iterable[str]) -> list[dict[str, str]]:
        return [{"name": name, "about": registry.about(name)} for name in names]

    def schedules() -> list[dict[str, str]]:
        updates, names = UPDATES.names(), schedule_names()
        return [row for name in names for row in described(UPDATES if name in updates else SCHEDULES, [name])]

    kinds: Mapping[str, Callable[[], list[dict[str, str]]]] = {
        "tasks": lambda: plain(task_names()),
        "backbones": lambda: [_backbone(name, entry) for name, entry in CATALOGUE.items()],
        "protocols": lambda: plain(PRESETS),
        "schedules": schedules,
        "signals": lambda: described(SIGNALS, SIGNALS.names()),
        "acquisitions": lambda: described(ACQUISITIONS, ACQUISITIONS.names()),
        "trackers": lambda: described(TRACKERS, TRACKERS.names()),
    }
    if what not in kinds:
        raise UserError(f"'{what}' cannot be listed; {hint_or_list(what, ['runs', *kinds])}")
    return kinds[what]()


def _backbone(name: str, entry: Entry) -> dict[str, str]:
    """Return the row of a named backbone; `parameters` are in millions."""
    return {
        "name": name,
        "parameters": f"{entry.parameters:g}M",
        "layers": str(entry.layers),
        "languages": entry.languages,
        "licence": entry.licence,
        "prefix": entry.prefix,
        "hub": entry.hub_id or "",
        "about": entry.about,
    }


def _runs(folder: Path, exact: bool) -> list[dict[str, str]]:
    """Return a row for each run; a damaged folder is skipped with a note on standard error."""
    rows = []
    for path in sorted(folder.glob("*/run.json")):
        try:
            rows.append(_row(path.parent, exact))
        except (UserError, OSError) as error:
            typer.echo(f"Skipped {path.parent}: {one_line(str(error))}", err=True)
    return rows


def _row(folder: Path, exact: bool) -> dict[str, str]:
    from hybridal.lab.study.trie import histories
    from hybridal.measures.certainty import known_f1
    from hybridal.reports.history_summary import plain_sequence
    from hybridal.runs.record import RunFolder
    from hybridal.schedules import make_schedule

    run = RunFolder(folder)
    about, settings, history = run.about(), run.settings(), run.history()
    row = {"run": str(folder), "task": settings.task, "schedule": settings.schedule}
    rounds, last = len(history), history[-1] if history else None
    if "schedules" in about:
        schedules = [make_schedule(spec) for spec in about["schedules"]]
        found = histories({record.update_sequence: record for record in history}, schedules, settings.rules.rounds)
        row["schedule"] = ",".join(found)
        rounds, last = min(map(len, found.values())), None
    measured = last.validation or last.cross if last else None
    row["rounds"] = f"{rounds}/{settings.rules.rounds}"
    row["update_sequence"] = "" if last is None else last.update_sequence if exact else plain_sequence(history)
    f1 = known_f1(measured) if measured else None
    row["F1"] = "" if f1 is None else f"{f1.value:.3f}"
    return row
