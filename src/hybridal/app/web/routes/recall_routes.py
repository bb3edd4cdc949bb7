"""Routes for recall certificates: whether nearly all texts of a class are found."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from hybridal.app.app_errors import ForbiddenError
from hybridal.app.db.schema import clean
from hybridal.app.labelling import classes
from hybridal.app.labelling.recall_samples import RecallState, draw_recall_sample, recall_state
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Reviewer, sees_predictions
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import ClassName, Schema
from hybridal.sentences import translatable

router = Router(prefix="/api")


class RecallSchema(Schema):
    """How far the certificate "at least 95% of the texts of a class are found, with 95% confidence" is."""

    found: int = Field(description="Texts that people labelled as the class.")
    left_out: int = Field(description="Texts without a label for the class to which the model does not give it.")
    given: int = Field(description="Texts without a label for the class to which the model gives it.")
    drawn: int = Field(description="Texts in the random sample of those left out; 0 if there is none.")
    sampled: int = Field(description="Those of them with a label, up to the first without one.")
    missed: int = Field(description="Those of them that belong to the class.")
    waiting: int = Field(description="Texts of the sample without a label.")
    unsettled: int = Field(description="Texts of the sample that were skipped or are disputed.")
    outdated: bool = Field(description="Texts were added since the last sample was drawn.")
    holds: bool = Field(description="Whether the certificate can be given.")
    recall: float = Field(description="The share of its texts that shall be found.")
    confidence: float
    sure_recall: float = Field(description="The share of its texts that are found with this confidence now.")
    labels_needed: int | None = Field(description="Size of the sample if no further text belongs to the class.")


class RecallRequest(Schema):
    """The class whose texts shall be found."""

    class_: ClassName = Field(validation_alias="class", serialization_alias="class", examples=["bug"])


@router.get("/recall")
def get_recall(
    user: Annotator,
    project: CurrentProject,
    class_: Annotated[str, Query(alias="class", max_length=classes.LONGEST_NAME, description="The class.")],
) -> RecallSchema:
    """Whether nearly all texts of a class are found, by a random sample of those that would be left out."""
    with project.reads() as session:
        settings = read(session)
        if not sees_predictions(user, settings):
            raise ForbiddenError(translatable("In this project annotators do not see predictions; ask an owner."))
        number = classes.find(session, clean(class_)).number
        return _shown(recall_state(session, number, settings["multi_label"]))


@router.post("/recall")
def draw_recall(given: RecallRequest, _: Reviewer, project: CurrentProject) -> RecallSchema:
    """Draw the random sample, or the further texts that it takes; they are set aside, and served first."""
    with project.sessions.begin() as session:
        settings, number = read(session), classes.find(session, given.class_).number
        draw_recall_sample(session, settings, number)
        return _shown(recall_state(session, number, settings["multi_label"]))


def _shown(state: RecallState) -> RecallSchema:
    found = state.certificate
    names = ("found", "left_out", "sampled", "missed", "holds", "recall", "confidence", "sure_recall", "labels_needed")
    return RecallSchema(
        **{name: getattr(found, name) for name in names},
        given=state.given,
        drawn=state.drawn,
        waiting=len(state.undecided),
        unsettled=state.unsettled,
        outdated=state.outdated,
    )
