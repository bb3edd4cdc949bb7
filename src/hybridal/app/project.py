"""A project: a folder, a database, and the records of its model's chapters, which are read without torch."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from sqlalchemy import Engine, make_url, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from hybridal.app import project_settings as decided
from hybridal.app.audit_log import log_action, shortened
from hybridal.app.db.connect import Sessions, connect, reading, with_schema, writing
from hybridal.app.db.migrations import migrate
from hybridal.app.db.schema import Person, Scoring, Setting, Tally, Trainer
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.classes import ClassEntry
from hybridal.app.labelling.codebook import recording
from hybridal.app.labelling.random_draws import grow_reserve
from hybridal.app.labelling.requirements import begin_applying_rule
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import RESERVE_SETTINGS, draw_overlap
from hybridal.app.people import CREATOR, add_person
from hybridal.app.vectors import Vectors
from hybridal.backbones.auto_candidates import AUTO
from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.runs.record import RunFolder
from hybridal.schedules import Schedule, make_schedule
from hybridal.system.files import strict_json, write_whole
from hybridal.system.private import close_to_others, make_private

log = logging.getLogger(__name__)

DB_VARIABLE = "HYBRIDAL_DB"
"""The environment variable for a database address with a password, which is never written to a file."""

DB_FILE = "labels.db"
READER_FILE = "reader.json"
"""The tokenizer of the newest model; pages show with it how much of a text the model reads."""

MODEL_FOLDER = "model"  # in `exports`

MULTI_LABEL_IS_FIXED = (
    "`multi_label`: whether a text may have several classes is fixed when a project is made; make a new project."
)


class Project:
    """A labelling project.

    Attributes:
        folder: The project's folder.
        engine: The connection pool of its database.
        sessions: Makes sessions that may write.
        reads: Makes sessions that only read, and block no writer.
        runs: Run folders, one per chapter of the model.
        exports: Files for download.
        log: The trainer's log file.
        probabilities: The newest predictions, stamped with round + 1.
        embeddings: Features of the pretrained encoder, stamped by `stamp_of`.
        owner_is_operator: The owner runs this process on their own machine, so it may call addresses in their network.
        asks_before_sending: Send only to addresses that the owner allowed on this machine (see `consent.py`).
    """

    owner_is_operator = False
    asks_before_sending = False

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self.engine = engine
        self.sessions: Sessions = writing(engine)
        self.reads: Sessions = reading(engine)
        self.runs = folder / "runs"
        self.exports = folder / "exports"
        self.log = folder / "trainer.log"
        self.probabilities = Vectors(folder / "vectors" / "probabilities", np.float32)
        self.embeddings = Vectors(folder / "vectors" / "embeddings", np.float16)

    @classmethod
    def create(
        cls,
        source: Source,
        folder: Path,
        *,
        db: str | None = None,
        in_schema: bool = False,
        definitions: Sequence[ClassEntry] = (),
        on_progress: texts.Progress = lambda _done, _total: None,
        **settings: Any,
    ) -> Project:
        """Create a project; an interrupted creation can be repeated.

        Args:
            source: The texts, classes and labels.
            folder: The project's folder.
            db: Address of a PostgreSQL database; a SQLite file in the folder by default.
            in_schema: Use a separate schema of a PostgreSQL database that other projects share.
            definitions: Descriptions and keys of classes; they are part of the first version of the codebook.
            on_progress: Receives how many texts were added so far.
            settings: Settings that differ from the defaults.

        Raises:
            UserError: A setting is not valid, or the folder or the database cannot be used.
        """
        for name, value in settings.items():
            decided.check(name, value)
        made = {"name": source.name, "key": token_hex(4)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            make_private([folder])
            about = dict(made)
            if (named := _named(folder, db)) is not None:
                if named.startswith("sqlite"):
                    raise UserError(
                        "`db`: a SQLite file is always in the project's folder; leave it out, or name a PostgreSQL "
                        "database.",
                        field="db",
                    )
                about["db"] = _without_password(named)
            if in_schema:
                about["schema"] = f"hybridal_{made['key']}"
            project = cls(folder, _reach(database_address(folder, db, about.get("schema"))))
            write_whole(folder / "project.json", strict_json(about, indent=2) + "\n")
            make_private(_private_paths(folder))
        except OSError as error:
            raise UserError(f"The project folder {folder} could not be written ({error.strerror}).") from error
        with project.sessions.begin() as session:
            project._begun(session)
            decided.write(session, {**made, "multi_label": source.multi_label, "backbone": AUTO, **settings})
            session.add_all([Tally(), Trainer(), Scoring()])
            add_person(session, CREATOR, "owner")
            with recording(session):
                classes.add(session, source.classes)
                classes.define(session, definitions)
            texts.add(
                session,
                source.rows,
                numbered=source.numbered,
                suggested=source.suggested,
                on_progress=on_progress,
            )
        return project

    @classmethod
    def open(cls, folder: str | Path, db: str | None = None) -> Project:
        """Open the project in a folder, and bring its tables up to date."""
        folder = Path(folder)
        if not (folder / "project.json").is_file():
            raise UserError(f"{folder} is not a project of `hybridal label`: it has no project.json.")
        close_to_others(_private_paths(folder))
        project = cls(folder, _reach(database_address(folder, db)))
        with project.reads() as session:
            if not project._begun(session):
                raise UserError(f"{folder} is incomplete; delete it and run `hybridal label` with your file again.")
        return project

    @staticmethod
    def exists(folder: Path, db: str | None = None) -> bool:
        """Whether there is a complete project in this folder."""
        if not (folder / "project.json").is_file():
            return False
        with closing(Project(folder, _reach(database_address(folder, db)))) as project, project.reads() as session:
            return project._begun(session)

    def decide(
        self, settings: Mapping[str, Any], class_names: Sequence[str] = (), person: Person | None = None
    ) -> None:
        """Change settings, apply their consequences, and add new classes; `person` is named in the audit log."""
        with self.sessions.begin() as session:
            before = decided.read(session)
            if settings.get("multi_label", before["multi_label"]) != before["multi_label"]:
                raise UserError(MULTI_LABEL_IS_FIXED, field="multi_label")
            decided.write(session, settings)
            session.flush()
            now = decided.read(session)
            changed = {name for name in now if now[name] != before[name]}
            if changed:
                values = {name: [shortened(one[name]) for one in (before, now)] for name in sorted(changed)}
                log_action(session, person, "settings", "change", **values)
            if changed & {"overlap", "overlap_people"}:
                draw_overlap(session, now)
            if changed & {"on_disagreement", "consensus_per"}:
                begin_applying_rule(session)
            if changed & set(RESERVE_SETTINGS):
                grow_reserve(session, now)
            classes.add(session, class_names)
        self.__dict__.pop("page_language", None)

    def setting(self, name: str) -> Any:
        """Read one setting (see `hybridal.app.project_settings`)."""
        return self.settings()[name]

    def settings(self) -> Mapping[str, Any]:
        """Read all settings."""
        with self.reads() as session:
            return decided.read(session)

    @cached_property
    def key(self) -> str:
        """A random identifier of the project."""
        return str(self.setting("key"))

    @cached_property
    def page_language(self) -> str:
        """The language of the pages for people who have not chosen one; "" is that of their browser."""
        return str(self.setting("page_language"))

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables with which a child process opens the same database."""
        return {DB_VARIABLE: self.engine.url.render_as_string(hide_password=False)}

    def close(self) -> None:
        """Close all connections to the database."""
        self.engine.dispose()

    def _begun(self, session: Session) -> bool:
        """Whether the database has this project; the database of another project is refused."""
        found = session.scalar(select(Setting.value).where(Setting.name == "key"))
        if found is not None and found != read_project_file(self.folder).get("key", found):
            name = decided.read(session)["name"]
            raise UserError(
                f"The database holds another project ('{name:.40}'); check `db` and {DB_VARIABLE}.", field="db"
            )
        return found is not None


def _private_paths(folder: Path) -> list[Path]:
    """Paths that only the user may read: the folder with texts and models, and the database with secrets."""
    return [folder, folder / "project.json", *folder.glob(f"{DB_FILE}*")]


def has_schema(folder: Path) -> bool:
    """Whether the project in this folder shares its database with others."""
    return "schema" in read_project_file(folder)


def database_address(folder: Path, db: str | None, schema: str | None = None) -> str:
    """The address of the project's database, with its schema if it shares the database with others."""
    named, schema = _named(folder, db), schema or read_project_file(folder).get("schema")
    if named is None:
        return f"sqlite:///{(folder / DB_FILE).resolve()}"
    return named if schema is None else with_schema(named, schema)


def _named(folder: Path, db: str | None) -> str | None:
    """The database address that was given now or at creation; None for the SQLite file in the folder."""
    return db or os.environ.get(DB_VARIABLE) or read_project_file(folder).get("db")


def read_project_file(folder: Path) -> dict[str, str]:
    """Read `project.json`: name, key, and address of the database; empty if there is none."""
    file = folder / "project.json"
    if not file.is_file():
        return {}
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        written = None
    if not isinstance(written, dict) or not all(isinstance(value, str) for value in written.values()):
        raise UserError(f"{file} is damaged; restore it from a backup.")
    # The file may come from a stranger: it must not make us open, and migrate, another SQLite file of this machine.
    if not written.get("db", "postgresql").startswith("postgresql"):
        raise UserError(f"{file} is damaged (`db` is no PostgreSQL database); restore it from a backup.")
    return written


def _without_password(db: str) -> str:
    return make_url(db)._replace(password=None).difference_update_query(["password"]).render_as_string()


def _reach(address: str) -> Engine:
    engine = connect(address)
    try:
        migrate(engine)
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        raise UserError(
            f"The database cannot be used ({reason:.200}); check `db` or {DB_VARIABLE}, and that it runs.", field="db"
        ) from error
    return engine


@dataclass(frozen=True)
class ChapterRecord:
    """The rounds and settings of a chapter, read from its folder; `before` counts the rounds of earlier ones."""

    history: Sequence[Round]
    schedule: Schedule
    before: int
    rules: Rules
    backbone: str


CHAPTER_FILE = "chapter.json"


def chapter_folders(runs: Path) -> list[Path]:
    """List the folders of the chapters in order, without those that a later one has replaced."""
    replaced = replaced_folders(runs)
    return [path for path in _numbered(runs) if path not in replaced]


def replaced_folders(runs: Path) -> list[Path]:
    """List the folders that a later chapter has replaced, but whose removal was interrupted."""
    found = _numbered(runs)
    replaced = {_replaced(path) for path in found}
    return [path for path in found if path.name in replaced]


def _numbered(runs: Path) -> list[Path]:
    return sorted((path for path in runs.glob("[0-9]*") if path.name.isdigit()), key=lambda path: int(path.name))


def _replaced(folder: Path) -> str | None:
    """The name of the folder that this one replaces; None if there is none."""
    try:
        fields = json.loads((folder / CHAPTER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return fields.get("replaces") if isinstance(fields, dict) else None


def read_chapters(chapters: Sequence[Path]) -> list[ChapterRecord]:
    """Read the records of chapters; a damaged one is skipped with a warning."""
    found: list[ChapterRecord] = []
    for path in chapters:
        try:
            folder = RunFolder.open(path)
            settings = folder.settings()
            schedule = make_schedule(settings.schedule)
            found.append(
                ChapterRecord(folder.history(), schedule, count_rounds(found), settings.rules, settings.backbone)
            )
        except UserError as error:
            log.warning("Chapter %s is skipped: %s", path.name, error)
    return found


def count_rounds(chapters: Sequence[ChapterRecord]) -> int:
    """Count the rounds of all these chapters."""
    return sum(len(chapter.history) for chapter in chapters)


def clear_scratch(folder: Path, name: str = "*") -> None:
    """Delete the temporary files of a killed trainer for the target `name`."""
    for left in folder.glob(f".{name}.*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
