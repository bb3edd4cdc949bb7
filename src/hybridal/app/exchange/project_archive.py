"""A whole project as one file: export it, and import it on another server or as a copy.

The file is a ZIP of `project.json` and one JSON Lines file per table, the same for SQLite and PostgreSQL. It has all
texts, labels, classes, people and settings, but no passwords, tokens, invitations and webhooks, and no model, which is
trained again from the labels. An import never unpacks the file: it reads the known tables, checks each value, and
inserts it.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, Integer, Row, Table, bindparam, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from hybridal.app import project_admin, project_settings
from hybridal.app.db.class_set import ClassSet, decode_set
from hybridal.app.db.connect import count_texts_again
from hybridal.app.db.migrations import MIGRATIONS
from hybridal.app.db.schema import REASONS, Base, Class, EncodedSet, LabelSet, Person, Tally, Text
from hybridal.app.exchange.table_files import WriteBuffer
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.codebook import check_versions
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.errors import UserError

FORMAT, VERSION = "hybridal project", 1
MAX_BYTES = 4_000_000_000  # of all unpacked tables
MAX_RATIO = 200  # of unpacked to packed bytes in large files; real projects have 5 to 20
ANY_RATIO_BYTES = 100_000_000  # up to here long texts that are almost the same may pack better
MAX_LINE = 4_000_000  # characters; a text has at most 100,000, its other columns 10,000 each
ROWS_PER_CHUNK = 1000
OTHER_VERSION = "The project was exported with another version of hybridal; use the same version on both servers."

NOT_EXPORTED = frozenset(
    {
        *("invitations", "login_sessions", "access_tokens", "webhooks", "deliveries"),  # secrets
        "audit_log",  # says what was done on this server
        *("leases", "trainer", "scoring", "predictions", "queued_texts"),  # follow from the model, or are short-lived
        "explanations",
    }
)
_COLUMNS_NOT_EXPORTED = frozenset({("people", "password"), ("texts", "folded"), ("texts", "digest")})
_SETTINGS_NOT_EXPORTED = frozenset({"key", "llm", "device", "settled", "grouped"})
_VALUES: Mapping[tuple[str, str], frozenset[str]] = {
    ("people", "role"): frozenset({"owner", "reviewer", "annotator"}),
    ("people", "kind"): frozenset({"person", "file", "llm"}),
    ("texts", "split"): frozenset({"pool", "validation"}),
    ("classes", "archived"): frozenset({"", "kept", "out", "deleted"}),
    ("annotations", "action"): frozenset({"label", "skip", "withdraw"}),
    ("rechecks", "state"): frozenset({"open", "done", "dismissed"}),
    ("annotations", "reason"): frozenset({"", *REASONS}),
}
_PLAIN_SPEC = re.compile(r"[a-z0-9_*+-]*(:([a-z0-9_*+-]*|-?[0-9.]+(e-?[0-9]+)?))*", re.IGNORECASE)


def exported_tables() -> dict[str, Table]:
    """The tables of an archive by name, each after those that it refers to."""
    return {table.name: table for table in Base.metadata.sorted_tables if table.name not in NOT_EXPORTED}


def _columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if (table.name, column.name) not in _COLUMNS_NOT_EXPORTED]


# --- export ----------------------------------------------------------------------------------------------------------


def archive_parts(project: Project) -> Iterator[bytes]:
    """Yield an archive of a project in parts, as of one moment; people may go on labelling meanwhile."""
    buffer = WriteBuffer()
    with project.reads() as session, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        name = project_settings.read(session)["name"]
        about = {"format": FORMAT, "version": VERSION, "tables": _revision(), "name": name}
        archive.writestr("project.json", json.dumps(about, ensure_ascii=False, indent=2))
        for table in exported_tables().values():
            columns = _columns(table)
            rows = session.connection().execute(
                select(*columns).order_by(*table.primary_key.columns), execution_options={"yield_per": ROWS_PER_CHUNK}
            )
            with archive.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as entry:
                entry.write(_line([column.name for column in columns]))
                for chunk in rows.partitions():
                    wanted = (row for row in chunk if _is_exported(table, row))
                    entry.write(b"".join(_line([_plain(value) for value in row]) for row in wanted))
                    yield buffer.take()
    yield buffer.take()


def _is_exported(table: Table, row: Row[Any]) -> bool:
    return table.name != "settings" or row.name not in _SETTINGS_NOT_EXPORTED


def _plain(value: Any) -> Any:
    return value.encode() if isinstance(value, ClassSet) else value


def _line(values: Sequence[Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _revision() -> str:
    return str(MIGRATIONS.get_current_head())


# --- import ----------------------------------------------------------------------------------------------------------


class ProjectArchive:
    """An archive that was checked as far as possible without reading its tables.

    Attributes:
        name: The title of the project.
    """

    def __init__(self, path: Path) -> None:
        """Open an archive.

        Args:
            path: The file, which may come from a stranger.

        Raises:
            UserError: It is not the export of a project, is damaged, or is of another version.
        """
        if not zipfile.is_zipfile(path):
            raise UserError("This file is not the export of a project.")
        with _readable():
            self._zip = zipfile.ZipFile(path)
        try:
            with _readable():
                self._check_entries(path.stat().st_size)
                about = json.loads(self._zip.read("project.json"))
            self._check_version(about)
        except BaseException:
            self._zip.close()
            raise
        self.name = str(about.get("name"))[:100]

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _check_entries(self, packed: int) -> None:
        entries = self._zip.infolist()
        names = [entry.filename for entry in entries]
        known = {"project.json", *(f"tables/{name}.jsonl" for name in exported_tables())}
        if "project.json" not in names:
            raise UserError("This file is not the export of a project.")
        if len(names) != len({*names}) or not {*names} <= known:
            other = next((name for name in names if name not in known), "one file twice")
            raise UserError(f"The export contains '{other:.80}', which does not belong there; it was not imported.")
        for entry in entries:
            if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise UserError("The export is encrypted or packed in another way; it was not imported.")
        unpacked = sum(entry.file_size for entry in entries)
        about = self._zip.getinfo("project.json").file_size
        if unpacked > min(MAX_BYTES, max(ANY_RATIO_BYTES, MAX_RATIO * packed)) or about > 100_000:
            raise UserError("The export would become too large when it is unpacked; it was not imported.")

    @staticmethod
    def _check_version(about: Any) -> None:
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise UserError("This file is not the export of a project.")
        if (about.get("version"), about.get("tables")) != (VERSION, _revision()):
            raise UserError(OTHER_VERSION)

    def rows(self, table: Table) -> Iterator[dict[str, Any]]:
        """Read the rows of a table.

        Raises:
            UserError: They are not those of this table.
        """
        columns = _columns(table)
        name = f"tables/{table.name}.jsonl"
        if name not in self._zip.namelist():
            return
        with _readable(), self._zip.open(name) as entry, TextIOWrapper(entry, "utf-8", newline="\n") as lines:
            if json.loads(lines.readline(MAX_LINE)) != [column.name for column in columns]:
                raise UserError(OTHER_VERSION)
            while line := lines.readline(MAX_LINE):
                values = json.loads(line)
                if not isinstance(values, list) or len(values) != len(columns):
                    raise ValueError(f"a row of {table.name}")
                yield {column.name: _checked(value, column) for value, column in zip(values, columns, strict=True)}


_DAMAGED = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OverflowError, RuntimeError, OSError)


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what a damaged or hostile file raises into one sentence."""
    try:
        yield
    except UserError:
        raise
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise UserError(f"The export cannot be read ({reason:.100}); export the project again.") from error
    except SQLAlchemyError as error:
        raise UserError("The export contradicts itself, so it was not imported; export the project again.") from error


def _checked(value: Any, column: Column[Any]) -> Any:
    """Check that a value has the type of its column."""
    where = f"{column.table.name}.{column.name}"
    if value is None:
        if not column.nullable:
            raise ValueError(f"{where} is missing")
        return None
    kind = column.type
    if isinstance(kind, JSON):
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # no half characters
        return value
    if isinstance(kind, Boolean):
        fits = isinstance(value, bool)
    elif isinstance(kind, Float):
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    elif isinstance(kind, Integer):
        fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    else:
        fits = isinstance(value, str) and bool(value.encode() or True)
    allowed = _VALUES.get((column.table.name, column.name))
    if not fits or (allowed is not None and value not in allowed):
        raise ValueError(f"{where} cannot be {value!s:.40}")
    return decode_set(value) if isinstance(kind, EncodedSet) else value


def import_project(
    path: Path, folder: Path, db: str | None = None, *, title: str, encoders: Sequence[str] = (), trusted: bool = False
) -> None:
    """Create a project from an archive.

    Args:
        path: The archive, which may come from a stranger.
        folder: An empty folder.
        db: A PostgreSQL database in which it gets a schema; a SQLite file by default.
        title: The name of the new project.
        encoders: Encoders that it may use; instead of another one it uses the first.
        trusted: This server wrote the archive: keep its encoder.

    Raises:
        UserError: The archive is not valid; no table is left then.
    """
    with closing(ProjectArchive(path)) as archive:
        tables = exported_tables()
        settings = _settings(archive, None if trusted else encoders)
        source = Source(title, [], multi_label=bool(settings.pop("multi_label", False)))
        try:
            made = Project.create(source, folder, db=db, in_schema=db is not None)
            with closing(made), _readable(), made.sessions.begin() as session:
                _empty(session, tables)
                project_settings.write(session, {**settings, "name": title})
                for table in tables.values():
                    if table.name != "settings":
                        _fill(session, table, archive.rows(table))
                _check(session)
        except BaseException:
            if db is not None:
                with suppress(UserError):
                    project_admin.delete(folder, db)
            raise


def _settings(archive: ProjectArchive, encoders: Sequence[str] | None) -> dict[str, Any]:
    """The settings of an archive. Those of a stranger must not name code or files of this server."""
    rows = list(archive.rows(exported_tables()["settings"]))
    settings = {row["name"]: row["value"] for row in rows if row["name"] not in _SETTINGS_NOT_EXPORTED}
    with _readable():
        for name in ("schedule", "acquisition"):
            if _PLAIN_SPEC.fullmatch(str(settings.get(name, ""))) is None:
                raise UserError(f"The setting '{name}' of the export names code, so it was not imported.")
        if encoders is not None and settings.get("backbone") not in (None, *encoders):
            settings["backbone"] = encoders[0]
        for name, value in settings.items():
            project_settings.check(name, value)
    return settings


def _empty(session: Session, tables: Mapping[str, Table]) -> None:
    """Delete what a new project begins with, except its settings."""
    for table in reversed([*tables.values()]):
        if table.name != "settings":
            session.execute(table.delete())


def _fill(session: Session, table: Table, rows: Iterator[dict[str, Any]]) -> None:
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
    numbers = {*session.scalars(select(Class.number))}
    named = {*session.scalars(select(Text.suggestion).where(Text.suggestion.is_not(None)).distinct())}
    for found in session.scalars(select(LabelSet.classes)):
        named |= found.present | found.unknown | (found.absent or frozenset())
    if not named <= numbers:
        raise ValueError("a label names a class that is missing")
    check_versions(session)
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
        settings = {name: value for name, value in now.items() if name not in {"name", *_SETTINGS_NOT_EXPORTED}}
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
