"""Routes for agreement, progress, and texts that need a decision."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from hybridal.app.db.schema import clean
from hybridal.app.insight.activity import Activity, activity
from hybridal.app.insight.annotator_agreement import AgreementReport, agreement_report, disagreements, ratings
from hybridal.app.insight.class_quality import QualityReport, class_quality
from hybridal.app.insight.confused_classes import ConfusedClasses, confused_classes
from hybridal.app.insight.project_progress import progress, review_texts
from hybridal.app.insight.set_agreement import SetAgreementReport, set_agreement_report
from hybridal.app.insight.set_review import contradicted_decisions
from hybridal.app.insight.set_votes import set_disagreements, set_ratings
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.people import may
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Reviewer
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import (
    CleanStr,
    Counts,
    GivenClasses,
    GivenDecisions,
    Items,
    Key,
    Saved,
    Schema,
    excerpt,
)
from hybridal.app.web.translations import Texts

router = Router(prefix="/api")

MAX_REVIEWED = 50
TextLists = dict[str, list[dict[str, Any]]]


class Adjudication(Schema):
    """A reviewer's decision on the class of a text."""

    key: Key
    text: CleanStr = Field(description="Its id.", examples=["t17"])
    class_: CleanStr | None = Field(None, alias="class", max_length=classes.LONGEST_NAME, examples=["bug"])
    classes: GivenClasses = None
    decisions: GivenDecisions = None


@router.get("/agreement")
def get_agreement(_: Reviewer, project: CurrentProject) -> SetAgreementReport | AgreementReport:
    """Agreement on the texts that two or more people labelled; of sets by MASI distance, and on each class."""
    with project.reads() as session:
        several, names = read(session)["multi_label"], [one.name for one in classes.active(session)]
        found = [] if several else ratings(session)
        sets = set_ratings(session) if several else []
    return set_agreement_report(sets, names) if several else agreement_report(found)


@router.get("/disagreements")
def get_disagreements(_: Reviewer, project: CurrentProject) -> TextLists:
    """Texts that people labelled differently and that have no decision yet; of sets, with the contested classes."""
    with project.reads() as session:
        find = set_disagreements if read(session)["multi_label"] else disagreements
        return _excerpts({"items": find(session)})


@router.post("/adjudications")
def adjudicate(given: Adjudication, user: Reviewer, project: CurrentProject) -> Saved:
    """Decide the class of a text; the decision overrides all other annotations."""
    with project.sessions.begin() as session:
        now = annotate(
            session,
            user.person,
            given.text,
            "label",
            class_name=given.class_,
            class_names=given.classes,
            decisions=given.decisions,
            key=given.key,
            decides=True,
            offered=True,
        )
    return Saved(ok=True, counts=Counts(**now))


@router.get("/progress")
def get_progress(_: Annotator, project: CurrentProject, texts: Texts) -> dict[str, Any]:
    """The learning curve, calibration, the switch signal, training time saved, and labels per class."""
    return texts.sentences(progress(project))


@router.get("/quality")
def get_quality(_: Annotator, project: CurrentProject) -> QualityReport:
    """Precision, recall and support of each class, and the confusion matrix of the newest model.

    Measured on the validation texts that have a label and a prediction. Shares of fewer than 10 texts are null.
    """
    with project.reads() as session:
        return class_quality(session)


@router.get("/confusions")
def get_confusions(_: Reviewer, project: CurrentProject) -> Items[ConfusedClasses]:
    """The classes that people give to the same texts instead of each other, the most frequent first."""
    with project.reads() as session:
        found = set_ratings(session) if read(session)["multi_label"] else ratings(session)
    return Items(items=confused_classes(found))


@router.get("/activity")
def get_activity(
    user: Annotator,
    project: CurrentProject,
    days: Annotated[int, Query(ge=1, le=366, description="How many days, with today.")] = 30,
    offset: Annotated[
        int, Query(ge=-840, le=840, description="The time zone of the days, in minutes east of Greenwich.")
    ] = 0,
) -> Activity:
    """How many texts each person labelled on each day, and how long a label takes; annotators see only their own.

    Times are in seconds: median and quartiles, null for fewer than 10 timed labels.
    """
    own = None if may(user.role, "reviewer") else user.person.number
    with project.reads() as session:
        return activity(session, days, offset, own)


@router.get("/review")
def get_review(
    _: Reviewer,
    project: CurrentProject,
    class_name: Annotated[
        str,
        Query(alias="class", max_length=200, description="If a text may have several: only decisions on this class."),
    ] = "",
) -> TextLists:
    """Texts about which the model is uncertain, and labels that it contradicts.

    If a text may have several classes, it contradicts decisions on one of them; the uncertain texts are those of
    `GET /api/texts?order=doubt`.
    """
    with project.reads() as session:
        if read(session)["multi_label"]:
            return _excerpts(
                {"contradicted": contradicted_decisions(session, project, MAX_REVIEWED, clean(class_name))}
            )
        return _excerpts(review_texts(session, MAX_REVIEWED))


def _excerpts(lists: TextLists) -> TextLists:
    return {kind: [{**item, "text": excerpt(item["text"])} for item in items] for kind, items in lists.items()}
