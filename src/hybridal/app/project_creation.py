"""Create a project from everything that the start page asks for: texts, classes with descriptions, invitations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybridal.app import project_admin
from hybridal.app.labelling import classes
from hybridal.app.labelling.classes import ClassEntry
from hybridal.app.labelling.text_source import Source
from hybridal.app.labelling.texts import Progress
from hybridal.app.people import invite
from hybridal.app.project import Project
from hybridal.errors import UserError


@dataclass(frozen=True)
class ProjectPlan:
    """What a new project begins with.

    Attributes:
        source: Its texts and their labels.
        classes: Classes in their order; those of the file follow.
        invitations: The role of each person to invite.
        settings: Settings that differ from the defaults.
    """

    source: Source
    classes: Sequence[ClassEntry] = ()
    invitations: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def create_project(
    plan: ProjectPlan, folder: Path, db: str | None = None, on_progress: Progress = lambda _done, _total: None
) -> list[str]:
    """Create a project in an empty folder.

    Args:
        plan: What it begins with.
        folder: The folder.
        db: A PostgreSQL database in which it gets a schema; a SQLite file by default.
        on_progress: Receives how many texts were added so far.

    Returns:
        The secret of each invitation's link.

    Raises:
        UserError: The plan is not valid, or the database cannot be used; no table is left then.
    """
    names = dict.fromkeys([*(classes.checked(one.name) for one in plan.classes), *plan.source.classes])
    source = replace(plan.source, classes=tuple(names))
    try:
        made = Project.create(
            source,
            folder,
            db=db,
            in_schema=db is not None,
            definitions=plan.classes,
            on_progress=on_progress,
            **plan.settings,
        )
        with closing(made), made.sessions.begin() as session:
            return [invite(session, role)[1] for role in plan.invitations]
    except BaseException:
        if db is not None:
            with suppress(UserError):
                project_admin.delete(folder, db)
        raise
