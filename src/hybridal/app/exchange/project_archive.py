"""Import a whole project from one file, which may come from a stranger, and copy a project without its labels.

An import never unpacks the file: it reads the known tables, checks each value, and inserts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Table, bindparam, func, insert, select, update
from sqlalchemy.orm import Session

from hybridal.app import project_admin, project_settings
from hybridal.app.db.connect import count_texts_again
from hybridal.app.db.schema import Class, Comment, CommentThread, LabelSet, Person, Tally, Text
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.exchange.archive_tables import ROWS_PER_CHUNK, SETTINGS_NOT_EXPORTED, exported_tables, readable
from hybridal.app.exchange.archived_settings import is_offered, names_no_code
from hybridal.app.exchange.model_import import ArchivedModel
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.codebook import check_versions
from hybridal.app.labelling.comments import LONGEST_COMMENT
from hybridal.app.labelling.text_source import Source
from hybridal.app.own_keys import own_keys_problem
from hybridal.app.prices import PricePlan
from hybridal.app.project import Project
from hybridal.errors import UserError


def import_project(
    path: Path,
    folder: Path,
    db: str | None = None,
    *,
    title: str,
    encoders: Sequence[str] = (project_settings.DEFAULTS["backbone"],),
    trusted: bool = False,
    with_model: bool = False,
    on_progress: texts.Progress = lambda _done, _total: None,
) -> None:
    """Create a project from an archive.

    Args:
        path: The archive, which may come from a stranger.
        folder: An empty folder.
        db: A PostgreSQL database in which it gets a schema; a SQLite file by default.
        title: The name of the new project.
        encoders: Encoders that it may use; instead of another one it uses the first.
        trusted: This server wrote the archive: keep its encoder, and do not try its model.
        with_model: Import its model too, if it has one.
        on_progress: Receives how many bytes of the unpacked files were read, and how many there are.

    Raises:
        UserError: The archive or its model is not valid; no table is left then.
    """
    offered = None if trusted else encoders
    with closing(ProjectArchive(path)) as archive:
        tables = exported_tables()
        model = ArchivedModel(archive, offered) if with_model and archive.has_model else None
        renamed = {} if model is None else {model.archived_backbone: model.backbone}
        settings = _settings(archive, offered, renamed)
        source = Source(title, [], multi_label=bool(settings.pop("multi_label", False)))
        total = archive.tables_bytes + (archive.model_bytes if model else 0)

        def report() -> None:
            on_progress(min(archive.done, total), total)

        try:
            made = Project.create(source, folder, db=db, in_schema=db is not None)
            with closing(made):
                with readable(), made.sessions.begin() as session:
                    _empty(session, tables)
                    project_settings.write(session, {**settings, "name": title})
                    for table in tables.values():
                        if table.name != "settings":
                            _fill(session, table, archive.rows(table), report)
                    _check(session)
                    if model is not None:
                        model.restore(session, made, report)
                if model is not None and not trusted:
                    model.try_out(made)
        except BaseException:
            if db is not None:
                with suppress(UserError):
                    project_admin.delete(folder, db)
            raise


def _settings(archive: ProjectArchive, encoders: Sequence[str] | None, renamed: Mapping[str, str]) -> dict[str, Any]:
    """The settings of an archive. Those of a stranger must not name code or files of this server.

    Args:
        archive: The archive.
        encoders: Encoders that the project may use; None for any.
        renamed: Encoders that have another name on this server.
    """
    rows = list(archive.rows(exported_tables()["settings"]))
    settings = {row["name"]: row["value"] for row in rows if row["name"] not in SETTINGS_NOT_EXPORTED}
    settings.setdefault("backbone", project_settings.DEFAULTS["backbone"])
    with readable():
        for name in ("schedule", "acquisition"):
            if not names_no_code(settings.get(name, "")):
                raise UserError(f"The setting '{name}' of the export names code, so it was not imported.")
        settings["backbone"] = renamed.get(str(settings["backbone"]), settings["backbone"])
        if encoders is not None and not is_offered(settings["backbone"], encoders):
            settings["backbone"] = encoders[0]
        for name, value in settings.items():
            project_settings.check(name, value)
        PricePlan.model_validate(settings.get("prices", {}))
    return settings


def _empty(session: Session, tables: Mapping[str, Table]) -> None:
    """Delete what a new project begins with, except its settings."""
    for table in reversed([*tables.values()]):
        if table.name != "settings":
            session.execute(table.delete())


def _fill(session: Session, table: Table, rows: Iterator[dict[str, Any]], report: Callable[[], None]) -> None:
    # A row may refer to a later one of its table, such as a class to the one it was merged into.
    inner = [column.name for column in table.columns if any(key.column.table is table for key in column.foreign_keys)]
    later: list[dict[str, Any]] = []
    keys = [column.name for column in table.primary_key.columns]
    while chunk := list(islice(rows, ROWS_PER_CHUNK)):
        for row in chunk:
            if any(row[name] is not None for name in inner):
                later.append({f"_{name}": row[name] for name in (*keys, *inner)})
                row.update(dict.fromkeys(inner))
        session.execute(insert(table), chunk)
        report()
    if later:
        where = [table.c[name] == bindparam(f"_{name}") for name in keys]
        changes: dict[str, Any] = {name: bindparam(f"_{name}") for name in inner}
        session.connection().execute(update(table).where(*where).values(changes), later)
    _count_on(session, table)


def _count_on(session: Session, table: Table) -> None:
    """Let PostgreSQL's counter go on after the numbers that were inserted."""
    column = table.autoincrement_column
    if column is not None and session.get_bind().dialect.name == "postgresql":
        sequence = session.scalar(select(func.pg_get_serial_sequence(table.name, column.name)))
        newest = session.scalar(select(func.max(column)))
        if sequence is not None and newest is not None:
            session.execute(select(func.setval(sequence, newest)))


def _check(session: Session) -> None:
    """Check what every page relies on."""
    owner = session.scalars(select(Person).where(Person.kind == "person").order_by(Person.number).limit(1)).first()
    if owner is None or owner.role != "owner":
        raise ValueError("the owner is missing")
    owner.active = True
    for keys in session.scalars(select(Person.own_keys).where(Person.own_keys.is_not(None))):
        if not isinstance(keys, dict) or own_keys_problem(keys):
            raise ValueError("people.own_keys has keys that cannot be used")
    numbers = {*session.scalars(select(Class.number))}
    named = {*session.scalars(select(Text.suggestion).where(Text.suggestion.is_not(None)).distinct())}
    for found in session.scalars(select(LabelSet.classes)):
        named |= found.present | found.unknown | (found.absent or frozenset())
    if not named <= numbers:
        raise ValueError("a label names a class that is missing")
    check_versions(session)
    newest = select(func.max(Comment.number)).where(Comment.thread_number == CommentThread.number).scalar_subquery()
    if session.scalar(select(CommentThread.number).where(CommentThread.newest.is_distinct_from(newest)).limit(1)):
        raise ValueError("comment_threads.newest is not the newest comment")
    if session.scalar(select(Comment.number).where(func.length(Comment.body) > LONGEST_COMMENT).limit(1)):
        raise ValueError("comments.body is too long")
    if session.get(Tally, 1) is None:
        raise ValueError("the counts are missing")
    count_texts_again(session)


def copy_without_labels(project: Project, folder: Path, db: str | None = None, *, title: str) -> None:
    """Create a project with the texts, classes and settings of another, without labels or people.

    Args:
        project: The other project.
        folder: An empty folder.
        db: A PostgreSQL database in which it gets a schema; a SQLite file by default.
        title: The name of the new project.
    """
    with project.reads() as session:
        now = project_settings.read(session)
        settings = {name: value for name, value in now.items() if name not in {"name", *SETTINGS_NOT_EXPORTED}}
        present = select(Text.id, Text.body, Text.context).where(Text.deleted.is_(None)).order_by(Text.row)
        rows = [texts.Row(id, body, None, context or {}) for id, body, context in session.execute(present)]
        codebook = [*classes.active(session)]
    source = Source(title, rows, tuple(one.name for one in codebook), multi_label=settings.pop("multi_label"))
    made = Project.create(source, folder, db=db, in_schema=db is not None, **settings)
    with closing(made), made.sessions.begin() as session:
        for one in codebook:
            added = classes.find(session, one.name)
            classes.describe(session, added.number, one.description, one.examples)
            added.group, added.key = one.group, one.key
