"""Routes for the project, its settings and its trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field
from sqlalchemy import update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ForbiddenError
from hybridal.app.db.schema import Person, Trainer
from hybridal.app.labelling import classes
from hybridal.app.labelling.codebook import newest_version
from hybridal.app.labelling.comments import count_unread
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.learnt_predictions import are_from_names
from hybridal.app.labelling.rechecks import texts_to_recheck
from hybridal.app.people import may
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.trainer.pending_work import labels_towards, obstacle
from hybridal.app.trainer.publish import published_round
from hybridal.app.web.auth import Annotator, CurrentProject, Owner
from hybridal.app.web.background_updates import catch_up
from hybridal.app.web.project_threads import Router, in_thread
from hybridal.app.web.schemas import ClassSchema, CleanStr, Counts, Done, Schema, Settings
from hybridal.app.web.translations import Texts
from hybridal.core.rules import protocol
from hybridal.sentences import translatable

router = Router(prefix="/api")

SHOWN_SETTINGS = (
    *("budget", "batch", "validation_first", "validation_share", "overlap", "overlap_people", "on_disagreement"),
    "consensus_per",
    *("lease_seconds", "show_predictions", "preselect", "look_alikes", "open_classes", "newcomers"),
    "page_language",
    *("backbone", "schedule", "protocol", "acquisition"),
)


class Me(Schema):
    """The signed-in person."""

    number: int
    name: str
    role: str


class ProjectSchema(Schema):
    """The data that every page loads first. `csrf_token` must be sent with every change, as the header X-CSRF-Token."""

    id: str
    name: str
    csrf_token: str
    me: Me
    own_keys: dict[str, str] | None = Field(
        description="The keys that this person chose for functions of the page Label; null if they never did."
    )
    multi_label: bool = Field(description="Whether a text may have several classes, or none.")
    classes: list[ClassSchema]
    codebook: int = Field(description="The newest version of the codebook.")
    unread: int = Field(description="Threads of comments with something that this person has not read.")
    rechecks: int = Field(description="Texts to look at again because the codebook has changed.")
    counts: Counts
    budget: int
    settings: Settings


class SettingsChange(Schema):
    """Settings that can change while people work."""

    name: CleanStr | None = Field(None, min_length=1, max_length=200)
    guidelines: CleanStr | None = Field(None, max_length=50_000)
    budget: int | None = Field(None, examples=[1000])
    batch: int | None = None
    validation_share: float | None = None
    overlap: float | None = None
    overlap_people: int | None = None
    on_disagreement: Literal["adjudication", "majority"] | None = None
    consensus_per: Literal["set", "class"] | None = Field(
        None, description="If a text may have several classes: people agree on whole sets, or on each class by itself."
    )
    lease_seconds: int | None = None
    show_predictions: bool | None = None
    look_alikes: bool | None = Field(None, description="Texts that are almost the same are asked once.")
    preselect: bool | None = Field(
        None,
        description="If a text may have several: the page Label chooses suggested and shown predicted classes already.",
    )
    open_classes: bool | None = None
    newcomers: Literal["annotator", "reviewer", "none"] | None = None
    page_language: str | None = Field(
        None, max_length=20, description="Of the pages for people who have not chosen one; empty: their browser's."
    )
    protocol: str | None = Field(None, max_length=40)
    max_length: int | None = Field(None, ge=8, le=8192, description="Tokens of a text that the model reads.")


@router.get("/project")
def get_project(user: Annotator, project: CurrentProject) -> ProjectSchema:
    """The project, its classes and settings, and the signed-in person."""
    with project.reads() as session:
        settings = read(session)
        return ProjectSchema(
            id=settings["key"],
            name=settings["name"],
            csrf_token=user.csrf_token,
            me=Me(number=user.person.number, name=user.name, role=user.role),
            own_keys=user.person.own_keys,
            multi_label=settings["multi_label"],
            classes=[ClassSchema.model_validate(one) for one in classes.active(session)],
            codebook=newest_version(session),
            unread=count_unread(session, user),
            rechecks=texts_to_recheck(session),
            counts=Counts(**counts(session)),
            budget=settings["budget"],
            settings=_shown(settings),
        )


@router.patch("/settings")
async def change_settings(changes: SettingsChange, user: Owner, project: CurrentProject) -> Settings:
    """Change settings."""
    settings = await in_thread(_change, project, user.person, changes)
    await catch_up(project)
    return settings


def _change(project: Project, person: Person, changes: SettingsChange) -> Settings:
    given = changes.model_dump(exclude_none=True)
    tokens, now = given.pop("max_length", None), project.settings()
    # Store the length only if it differs from the protocol's own, so that a later change of protocol applies its own.
    if tokens not in (None, _shown({**now, **given})["max_length"]):
        given["overrides"] = {**now["overrides"], "max_length": tokens}
    project.decide(given, person=person)
    return _shown(project.settings())


def _shown(settings: Mapping[str, Any]) -> Settings:
    length = settings["overrides"].get("max_length", protocol(settings["protocol"]).max_length)
    return {**{name: settings[name] for name in SHOWN_SETTINGS}, "max_length": length}


class TrainerSchema(Schema):
    """The trainer's state, and the labels given and needed for its next update.

    `published` is the round whose model orders the texts and predicts; it can be the round that is still in progress.
    `obstacle` says why there is no first model although there are enough labels. While `from_names` holds, predictions
    come from class names and descriptions alone; the model has learnt no label yet. `step` says what `done` and `total`
    count: `texts`, `fits`, `epochs`, or "" for nothing yet.
    """

    phase: str
    update: str
    round: int
    step: str
    done: int
    total: int
    seconds_left: float | None
    error: str
    request: str
    heartbeat: float
    new_labels: int
    needed: int
    published: int
    obstacle: str
    from_names: bool


class TrainerRequest(Schema):
    """A request to the trainer."""

    request: Literal["train", "retry", "finish"]


@router.get("/trainer")
def get_trainer(_: Annotator, project: CurrentProject, texts: Texts) -> TrainerSchema:
    """The trainer's state, for the bar at the top of every page."""
    with project.reads() as session:
        found = trainer_status(session)
    return found.model_copy(update={"obstacle": texts.sentence(found.obstacle)})


def trainer_status(session: Session) -> TrainerSchema:
    """Read the trainer's state."""
    row = session.get_one(Trainer, 1)
    # A waiting trainer stores the numbers of labels given and needed in `done` and `total`.
    new, needed = (row.done, row.total) if row.phase == "waiting" else labels_towards(session)
    names = ("phase", "update", "round", "step", "done", "total", "seconds_left", "error", "request", "heartbeat")
    return TrainerSchema(
        **{name: getattr(row, name) for name in names},
        new_labels=new,
        needed=needed,
        published=published_round(session),
        obstacle=obstacle(session),
        from_names=are_from_names(session),
    )


@router.post("/trainer")
def request_trainer(wanted: TrainerRequest, user: Annotator, project: CurrentProject) -> Done:
    """Ask the trainer to train now or to retry; reviewers may also ask it to finish, that is to train a last time."""
    if wanted.request == "finish" and not may(user.role, "reviewer"):
        raise ForbiddenError(translatable("Only a reviewer or an owner may finish the model."))
    with project.sessions.begin() as session:
        session.execute(update(Trainer).where(Trainer.number == 1).values(request=wanted.request))
    return Done()
