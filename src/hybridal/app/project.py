"""A project: one folder beside the data, a database, and the chapters of its model, read without the model."""

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
from hybridal.app.db.connect import Sessions, connect, reading, with_schema, writing
from hybridal.app.db.migrations import migrate
from hybridal.app.db.schema import Scoring, Setting, Tally, Trainer
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.requirements import settle_again
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import RESERVE_SETTINGS, draw_overlap, grow_reserve
from hybridal.app.people import CREATOR, add_person
from hybridal.app.vectors import Vectors
from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.runs.record import RunFolder
from hybridal.schedules import Schedule, make_schedule
from hybridal.system.files import strict_json, write_whole
from hybridal.system.private import close_to_others, make_private

log = logging.getLogger(__name__)

DB_VARIABLE = "HYBRIDAL_DB"
"""An address with a password is not written down: the trainer, and later starts, read it from here."""

DB_FILE = "labels.db"
READER_FILE = "reader.json"
"""The tokenizer of the newest model, for whoever shows how much of a text it reads."""

MODEL_FOLDER = "model"  # in `exports`


class Project:
    """`sessions` may write; `reads` only read, and nobody waits for them.

    `runs` holds a folder for each chapter of the model, in the format of `hybridal run`; `exports` what people take
    away; `log` what the trainer says. For each text there is what the newest model says (`probabilities`, a column a
    class, stamped with the round and one) and what the pretrained encoder does (`embeddings`, stamped by `stamp_of`).
    `owner_is_operator`: its owner runs this process on their own machine, and may let it call addresses in there.
    """

    owner_is_operator = False

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
        cls, source: Source, folder: Path, *, db: str | None = None, in_schema: bool = False, **settings: Any
    ) -> Project:
        """A new project of these texts; one whose creation was interrupted is begun again.

        With `in_schema` it has a schema of its own in a PostgreSQL database that others use too.
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
            project = cls(folder, _reach(_address(folder, db, about.get("schema"))))
            write_whole(folder / "project.json", strict_json(about, indent=2) + "\n")
            make_private(_private_paths(folder))
        except OSError as error:
            raise UserError(f"The project folder {folder} could not be written ({error.strerror}).") from error
        with project.sessions.begin() as session:
            project._begun(session)
            decided.write(session, {**made, **settings})
            session.add_all([Tally(), Trainer(), Scoring()])
            add_person(session, CREATOR, "owner")
            classes.add(session, source.classes)
            texts.add(session, source.rows, numbered=source.numbered, suggested=source.suggested)
        return project

    @classmethod
    def open(cls, folder: str | Path, db: str | None = None) -> Project:
        """The project in a folder, its tables brought up to date."""
        folder = Path(folder)
        if not (folder / "project.json").is_file():
            raise UserError(f"{folder} is not a project of `hybridal label`: it has no project.json.")
        close_to_others(_private_paths(folder))
        project = cls(folder, _reach(_address(folder, db)))
        with project.reads() as session:
            if not project._begun(session):
                raise UserError(f"{folder} is incomplete; delete it and run `hybridal label` with your file again.")
        return project

    @staticmethod
    def exists(folder: Path, db: str | None = None) -> bool:
        """Whether there is a whole project in this folder."""
        if not (folder / "project.json").is_file():
            return False
        with closing(Project(folder, _reach(_address(folder, db)))) as project, project.reads() as session:
            return project._begun(session)

    def decide(self, settings: Mapping[str, Any], class_names: Sequence[str] = ()) -> None:
        """Decides some settings anew, and adds the classes that are not there."""
        with self.sessions.begin() as session:
            before = decided.read(session)
            decided.write(session, settings)
            session.flush()
            now = decided.read(session)
            changed = {name for name in now if now[name] != before[name]}
            if changed & {"overlap", "overlap_people"}:
                draw_overlap(session, now)
            if "on_disagreement" in changed:
                settle_again(session)
            if changed & set(RESERVE_SETTINGS):
                grow_reserve(session, now)
            classes.add(session, class_names)

    def setting(self, name: str) -> Any:
        """One thing that is decided for the project (see `hybridal.app.project_settings`)."""
        return self.settings()[name]

    def settings(self) -> Mapping[str, Any]:
        """All of them."""
        with self.reads() as session:
            return decided.read(session)

    @cached_property
    def key(self) -> str:
        """A few characters that no other project has."""
        return str(self.setting("key"))

    @property
    def environment(self) -> Mapping[str, str]:
        """What a child process needs to know to open the same database."""
        return {DB_VARIABLE: self.engine.url.render_as_string(hide_password=False)}

    def close(self) -> None:
        """Lets go of the database."""
        self.engine.dispose()

    def _begun(self, session: Session) -> bool:
        """Whether the database holds this project; one that holds another is refused."""
        found = session.scalar(select(Setting.value).where(Setting.name == "key"))
        if found is not None and found != _written(self.folder).get("key", found):
            name = decided.read(session)["name"]
            raise UserError(
                f"The database holds another project ('{name:.40}'); check `db` and {DB_VARIABLE}.", field="db"
            )
        return found is not None


def _private_paths(folder: Path) -> list[Path]:
    """The folder, in which texts and models lie, and its database with the secrets of webhooks."""
    return [folder, folder / "project.json", *folder.glob(f"{DB_FILE}*")]


def has_schema(folder: Path) -> bool:
    """Whether the project in this folder shares its database with others."""
    return "schema" in _written(folder)


def _address(folder: Path, db: str | None, schema: str | None = None) -> str:
    named, schema = _named(folder, db), schema or _written(folder).get("schema")
    if named is None:
        return f"sqlite:///{(folder / DB_FILE).resolve()}"
    return named if schema is None else with_schema(named, schema)


def _named(folder: Path, db: str | None) -> str | None:
    """The address that was given, now or when the project was made; None: the file in its folder."""
    return db or os.environ.get(DB_VARIABLE) or _written(folder).get("db")


def _written(folder: Path) -> dict[str, str]:
    file = folder / "project.json"
    if not file.is_file():
        return {}
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        written = None
    if not isinstance(written, dict) or not all(isinstance(value, str) for value in written.values()):
        raise UserError(f"{file} is damaged; restore it from a backup.")
    # It may come from someone else: their project must not open, and migrate, a SQLite file of this machine.
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
    """A chapter as its folder tells it, after `before` rounds of earlier ones."""

    history: Sequence[Round]
    schedule: Schedule
    before: int
    rules: Rules


CHAPTER_FILE = "chapter.json"


def chapter_folders(runs: Path) -> list[Path]:
    """The chapters' folders in order, without those that a later one has replaced; other things may lie beside them."""
    replaced = replaced_folders(runs)
    return [path for path in _numbered(runs) if path not in replaced]


def replaced_folders(runs: Path) -> list[Path]:
    """Those that a later one goes on with, and that whoever made it could not remove any more."""
    found = _numbered(runs)
    replaced = {_replaced(path) for path in found}
    return [path for path in found if path.name in replaced]


def _numbered(runs: Path) -> list[Path]:
    return sorted((path for path in runs.glob("[0-9]*") if path.name.isdigit()), key=lambda path: int(path.name))


def _replaced(folder: Path) -> str | None:
    """The name of the folder whose rounds this one goes on with; it is removed once this one is whole."""
    try:
        said = json.loads((folder / CHAPTER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said.get("replaces") if isinstance(said, dict) else None


def read_chapters(chapters: Sequence[Path]) -> list[ChapterRecord]:
    """What these chapters tell; one that is damaged is passed over."""
    found: list[ChapterRecord] = []
    for path in chapters:
        try:
            folder = RunFolder.open(path)
            settings = folder.settings()
            schedule = make_schedule(settings.schedule)
            found.append(ChapterRecord(folder.history(), schedule, count_rounds(found), settings.rules))
        except UserError as error:
            log.warning("Chapter %s is passed over: %s", path.name, error)
    return found


def count_rounds(chapters: Sequence[ChapterRecord]) -> int:
    """How many rounds all these chapters have."""
    return sum(len(chapter.history) for chapter in chapters)


def clear_scratch(folder: Path, name: str = "*") -> None:
    """Takes away what was half written, to be called `name`, when a trainer was killed."""
    for left in folder.glob(f".{name}.*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
