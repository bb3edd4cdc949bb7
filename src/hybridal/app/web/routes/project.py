"""The project as a whole, and what is decided for it."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from hybridal.app import settings
from hybridal.app.labelling import classes
from hybridal.app.labelling.tally import counts
from hybridal.app.web.access import Annotator, Opened, Owner
from hybridal.app.web.routes.classes import shape
from hybridal.app.web.shapes import ClassShape, Counts, Settings, Shape, Words

router = APIRouter(prefix="/api")

SHOWN = (
    *("budget", "batch", "validation_first", "validation_share", "overlap", "lease_seconds"),
    *("show_guesses", "open_classes", "backbone", "schedule", "protocol", "acquisition"),
)


class Me(Shape):
    """Who asks."""

    name: str
    role: str


class ProjectShape(Shape):
    """What every page needs first. `csrf` must be sent with every change, as the header X-CSRF."""

    id: str
    name: str
    csrf: str
    me: Me
    classes: list[ClassShape]
    counts: Counts
    budget: int
    settings: Settings


class Changes(Shape):
    """Settings that can change while people work."""

    name: Words | None = Field(None, min_length=1, max_length=200)
    budget: int | None = None
    batch: int | None = None
    validation_share: float | None = None
    overlap: float | None = None
    lease_seconds: int | None = None
    show_guesses: bool | None = None
    open_classes: bool | None = None


@router.get("/project")
def project(visitor: Annotator, project: Opened) -> ProjectShape:
    """The project, the person who asks, and the classes."""
    with project.reads() as session:
        decided = settings.read(session)
        return ProjectShape(
            id=decided["key"],
            name=decided["name"],
            csrf=visitor.csrf,
            me=Me(name=visitor.name, role=visitor.role),
            classes=[shape(one) for one in classes.active(session)],
            counts=Counts(**counts(session)),
            budget=decided["budget"],
            settings={name: decided[name] for name in SHOWN},
        )


@router.patch("/settings")
def change(changes: Changes, _: Owner, project: Opened) -> Settings:
    """Decides some settings anew."""
    project.decide(changes.model_dump(exclude_none=True))
    return {name: value for name, value in project.settings().items() if name in SHOWN}
