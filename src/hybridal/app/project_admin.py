"""Archive a project folder, or delete it with its tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from sqlalchemy import inspect, select, text
from sqlalchemy.exc import DBAPIError

from hybridal.app.db.connect import connect
from hybridal.app.db.migrations import drop_tables
from hybridal.app.db.schema import Setting
from hybridal.app.project import database_address, read_project_file
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable
from hybridal.system.files import remove_folder, strict_json, write_whole
from hybridal.system.private import make_private


def archived_since(folder: Path) -> str:
    """When the project was archived, as an ISO date; empty if it is not, or if its file is damaged."""
    try:
        since = read_project_file(folder).get("archived", "")
        return since and date.fromisoformat(since).isoformat()
    except (UserError, OSError, ValueError):
        return ""


def archive(folder: Path, title: str) -> None:
    """Mark a project as archived, so that `hybridal serve` does not serve it; its title is shown meanwhile."""
    _write(folder, {**_read(folder), "name": title, "archived": datetime.now(UTC).date().isoformat()})


def restore(folder: Path) -> None:
    """Take a project out of the archive."""
    _write(folder, {name: value for name, value in _read(folder).items() if name != "archived"})


def title_of(folder: Path) -> str:
    """The title in the project's file; the name of the folder if there is none."""
    try:
        return read_project_file(folder).get("name", folder.name)
    except (UserError, OSError):
        return folder.name


def delete(folder: Path, db: str | None = None) -> None:
    """Delete a project's tables, then its folder; an interrupted deletion can be repeated.

    Args:
        folder: The project's folder; no process may be using it.
        db: Address of a PostgreSQL database, if it is not in the project's file.

    Raises:
        UserError: The database cannot be reached or holds another project, or the folder cannot be removed.
    """
    try:
        address = database_address(folder, db)
        if not address.startswith("sqlite"):
            _drop(address, read_project_file(folder))
        remove_folder(folder)
    except (DBAPIError, OSError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or getattr(error, "strerror", None) or error).split())
        raise UserError(
            Sentence("'{name}' could not be deleted ({reason}); try again.", name=folder.name, reason=reason[:200])
        ) from error


def _drop(address: str, about: Mapping[str, str]) -> None:
    engine = connect(address)
    try:
        with engine.begin() as connection:
            # A foreign `project.json` may name the tables of another project, or those of another program.
            there = inspect(connection).has_table("settings")
            key = connection.scalar(select(Setting.value).where(Setting.name == "key")) if there else None
            if key not in (None, about.get("key")):
                raise UserError(
                    translatable("The database holds another project, so nothing was deleted; check project.json.")
                )
            if about.get("schema") == f"hybridal_{about.get('key')}":  # `connect` has checked the name
                connection.execute(text(f"DROP SCHEMA IF EXISTS {about['schema']} CASCADE"))
            elif key is not None:
                drop_tables(connection)
    finally:
        engine.dispose()


def _read(folder: Path) -> dict[str, str]:
    if not (folder / "project.json").is_file():
        raise UserError(Sentence("{name} has no project.json; restore it from a backup.", name=folder.name))
    return read_project_file(folder)


def _write(folder: Path, about: dict[str, str]) -> None:
    file = folder / "project.json"
    write_whole(file, strict_json(about, indent=2) + "\n")
    make_private([file])
