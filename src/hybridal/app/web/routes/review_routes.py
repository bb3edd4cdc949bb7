"""How far people agree, how the model comes along, and which texts need a decision."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hybridal.app.insight.annotator_agreement import AgreementReport, agreement_report, disagreements, ratings
from hybridal.app.insight.project_progress import progress, review_texts
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.web.auth import Annotator, CurrentProject, Reviewer
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import CleanStr, Counts, Key, Saved, Schema, excerpt

router = Router(prefix="/api")

Listed = dict[str, list[dict[str, Any]]]


class Adjudication(Schema):
    """What a text's class shall be, whatever was said."""

    key: Key
    text: CleanStr = Field(description="Its id.", examples=["t17"])
    class_: CleanStr = Field(alias="class", max_length=classes.LONGEST_NAME, examples=["bug"])


@router.get("/agreement")
def get_agreement(_: Reviewer, project: CurrentProject) -> AgreementReport:
    """Agreement on the texts that two or more people labelled."""
    with project.reads() as session:
        said = ratings(session)
    return agreement_report(said)


@router.get("/disagreements")
def get_disagreements(_: Reviewer, project: CurrentProject) -> Listed:
    """Texts that people labelled differently, and nobody decided."""
    with project.reads() as session:
        return _excerpts({"items": disagreements(session)})


@router.post("/adjudications")
def adjudicate(given: Adjudication, user: Reviewer, project: CurrentProject) -> Saved:
    """Decides what a text's class is: it wins over all other answers."""
    with project.sessions.begin() as session:
        named: dict[str, Any] = {"class_name": given.class_, "key": given.key}
        now = annotate(session, user.person, given.text, "label", **named, decides=True, offered=True)
    return Saved(ok=True, counts=Counts(**now))


@router.get("/progress")
def get_progress(_: Annotator, project: CurrentProject) -> dict[str, Any]:
    """The learning curve, calibration, the signal, what was saved, and the balance of the classes."""
    return progress(project)


@router.get("/review")
def get_review(_: Reviewer, project: CurrentProject) -> Listed:
    """Texts that the model is in doubt about, and labels that it contradicts."""
    with project.reads() as session:
        return _excerpts(review_texts(session))


def _excerpts(found: Listed) -> Listed:
    return {kind: [{**one, "text": excerpt(one["text"])} for one in some] for kind, some in found.items()}
