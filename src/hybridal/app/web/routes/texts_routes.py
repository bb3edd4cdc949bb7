"""Routes for the list of texts, and for one text with its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ForbiddenError, MissingError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, Class, LabelSet, Person, Text, Vote, clean
from hybridal.app.insight.prediction_reasons import similar_labelled, utf16_spans, words_of
from hybridal.app.insight.ranking import nearest, of_class, probabilities_of
from hybridal.app.labelling.comments import threads_of_text
from hybridal.app.labelling.consensus import (
    CastVote,
    Resolution,
    consensus_of,
    flagged,
    settled_by_text,
    votes_by_text,
)
from hybridal.app.labelling.stored_class_sets import class_names
from hybridal.app.labelling.text_search import PAGE_SIZE, Order, State, search
from hybridal.app.labelling.texts import LONGEST_ID
from hybridal.app.people import User, may
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, sees_predictions
from hybridal.app.web.project_threads import Router
from hybridal.app.web.routes.comments_routes import ThreadSchema, thread_schemas
from hybridal.app.web.schemas import (
    CleanStr,
    PredictionSchema,
    Reason,
    Schema,
    ShownClasses,
    ShownDecisions,
    excerpt,
    predictions_of,
    shown_set,
)
from hybridal.sentences import translatable

router = Router(prefix="/api")


class TextSummary(Schema):
    """The beginning of a text with its label and newest comment; annotators see only their own labels and comments."""

    id: str
    text: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    source: str | None
    split: str
    flagged: bool
    reason: str = Field("", description="Why it was skipped or flagged last; empty if no reason was given.")
    comment: str
    prediction: PredictionSchema | None
    deleted: bool
    similarity: float | None = Field(default=None, description="Similarity to the text of the query `like`.")
    group: int | None = Field(
        None, exclude_if=lambda value: value is None, description="Texts with the same number are almost the same."
    )
    classes: ShownClasses = None
    decisions: ShownDecisions = None


class HistoryEntry(Schema):
    """One annotation of a text."""

    person: str
    action: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    flagged: bool
    reason: str
    comment: str
    decides: bool
    at: float
    copied: bool = Field(False, description="Whether it is a copy of the person's answer to a look-alike.")
    classes: ShownClasses = None
    decisions: ShownDecisions = None


class TextDetails(TextSummary):
    """The whole text with its annotations, of which annotators see only their own, comments, and other columns."""

    annotations: list[HistoryEntry]
    threads: list[ThreadSchema] = Field(description="The addressed comments that this person sees.")
    context: dict[str, str]


class TextPage(Schema):
    """One page of a list."""

    items: list[TextSummary]
    total: int
    more: bool = Field(False, description="Whether there are more than `total`: very many are not all counted.")
    pages: int


@router.get("/texts")
def list_texts(
    user: Annotator,
    project: CurrentProject,
    words: Annotated[str, Query(alias="search", max_length=200)] = "",
    class_name: Annotated[str, Query(alias="class", max_length=200)] = "",
    class_group: Annotated[str, Query(max_length=200, description="A group, of which the text has a class.")] = "",
    lacks: Annotated[str, Query(max_length=200, description="A class that the text is known not to have.")] = "",
    state: Annotated[State | None, Query(description="With `none`, the label is none of the classes.")] = None,
    predicted: Annotated[
        str,
        Query(
            max_length=200,
            description="The predicted class. Where a text may have several, the order is by the probability of this "
            "class; with `doubt`, those closest to its threshold come first, on either side.",
        ),
    ] = "",
    given: Annotated[str, Query(max_length=200, description="A class that the newest model gives the text.")] = "",
    withheld: Annotated[
        str, Query(max_length=200, description="A class that the newest model does not give the text.")
    ] = "",
    one: Annotated[
        str, Query(max_length=200, description="With `other`: a class that one person gave instead of the other class.")
    ] = "",
    other: Annotated[str, Query(max_length=200, description="The class that another person gave instead.")] = "",
    reason: Annotated[Reason | None, Query(description="Why a person skipped or flagged it.")] = None,
    order: Annotated[Order | None, Query(description="Order by the model's confidence.")] = None,
    like: Annotated[
        str, Query(max_length=LONGEST_ID, description="The id of a text; the most similar come first.")
    ] = "",
    ids: Annotated[
        Sequence[str], Query(alias="id", max_length=PAGE_SIZE, description="Only these, in this order.")
    ] = (),
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    whole: bool = False,
    exact: Annotated[bool, Query(description="Count all matching texts, however long it takes.")] = False,
) -> TextPage:
    """The matching texts, 50 per page: their beginnings, or with `whole` all of each text."""
    if state == "deleted" and not may(user.role, "owner"):
        raise ForbiddenError(translatable("Only an owner sees deleted texts."))
    if (one or other) and not may(user.role, "reviewer"):
        raise ForbiddenError(translatable("Only reviewers see the labels of other people."))
    with project.reads() as session:
        if (predicted or order or given or withheld) and not sees_predictions(user, read(session)):
            raise ForbiddenError(translatable("In this project annotators do not see predictions; ask an owner."))
        similar = _similarities(session, project, clean(like)) if like else None
        among = _rows(session, ids) if ids else None if similar is None else [*similar]
        ranked_by = ""
        if predicted and read(session)["multi_label"]:
            ranked_by = clean(predicted)
            listed = _of_class(session, project, ranked_by, order)
            among = [*listed] if among is None else [row for row in among if row in {*listed}]
            predicted, order = "", None
        found = search(
            session,
            clean(words),
            clean(class_name),
            state,
            page,
            by=_own_only(user),
            lacks=clean(lacks),
            given=clean(given),
            withheld=clean(withheld),
            confused=(clean(one), clean(other)),
            reason=reason or "",
            class_group=clean(class_group),
            predicted=clean(predicted),
            order=order,
            among=among,
            exact=exact,
        )
        items = _summaries(session, project, found.texts, user, ranked_by)
    if similar is not None:
        rows = {text.id: text.row for text in found.texts}
        items = [item.model_copy(update={"similarity": similar[rows[item.id]]}) for item in items]
    if whole:
        bodies = {text.id: text.body for text in found.texts}
        items = [item.model_copy(update={"text": bodies[item.id]}) for item in items]
    return TextPage(items=items, total=found.total, more=found.more, pages=found.pages)


def _of_class(session: Session, project: Project, name: str, order: Order | None) -> Sequence[int]:
    """The rows of a predicted class, where a text may have several; none if there is no such class."""
    found = session.execute(select(Class.number, Class.threshold).where(Class.name == name)).one_or_none()
    if found is None or found.threshold is None:
        return ()
    return of_class(project, found.number, found.threshold, doubtful=order == "doubt")


def _rows(session: Session, ids: Sequence[str]) -> list[int]:
    rows = dict(session.execute(select(Text.id, Text.row).where(Text.id.in_(ids))).all())
    return [rows[id] for id in dict.fromkeys(ids) if id in rows]


def _similarities(session: Session, project: Project, id: str) -> dict[int, float]:
    text = session.scalar(select(Text).where(Text.id == id))
    if text is None:
        raise MissingError(translatable("There is no such text."))
    found = nearest(project, text.row, text.digest)
    if found is None:
        raise MissingError(translatable("The model has not read this text yet; try again in a few minutes."))
    return found


class ExplanationRequest(Schema):
    """The text whose prediction is explained."""

    text: CleanStr = Field(description="Its id.", examples=["t17"])


class Word(Schema):
    """A word of the text, or several in a long text: where it begins and ends, in UTF-16 code units."""

    start: int
    end: int


class ClassReasons(Schema):
    """How much each word speaks for a class: the change of the log-odds without it; negative if against."""

    class_: str = Field(validation_alias="class", serialization_alias="class")
    probability: float
    weights: list[float]


class SimilarText(Schema):
    """A labelled text that is similar."""

    id: str
    text: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    similarity: float
    classes: ShownClasses = None
    decisions: ShownDecisions = None


ReasonState = Literal["none", "waiting", "ready"]


class Reasons(Schema):
    """Why the model predicts the class of a text."""

    state: ReasonState = Field(
        description="`waiting`: the trainer computes the words; request again in a second. `none`: there are none."
    )
    words: list[Word]
    classes: list[ClassReasons] = Field(description="The most probable classes.")
    similar: list[SimilarText] | None = Field(
        description="The most similar labelled texts, for annotators of their own; null if the text is not read yet."
    )


@router.post("/explanations")
def explain_prediction(given: ExplanationRequest, user: Annotator, project: CurrentProject) -> Reasons:
    """Request which words speak for and against a text's prediction, and the most similar labelled texts.

    The words are computed by the trainer, which may be training: repeat the request while `state` is `waiting`.
    """
    with project.sessions.begin() as session:
        if not sees_predictions(user, read(session)):
            raise ForbiddenError(translatable("In this project annotators do not see predictions; ask an owner."))
        text = session.scalar(select(Text).where(Text.id == given.text, Text.deleted.is_(None)))
        if text is None:
            raise MissingError(translatable("There is no such text."))
        found, body = words_of(session, text), text.body
        state: ReasonState = "waiting" if found is not None and found.round is None else "none"
        if found is not None and found.found:
            state = "ready"
        content = found.found if found is not None and found.found else {"spans": [], "classes": []}
    # The search may take long; other people's annotations must not wait for it.
    with project.reads() as session:
        names = class_names(session)
        similar = similar_labelled(session, project, text, _own_only(user))
        texts = {one.row: one for one in session.scalars(select(Text).where(Text.row.in_(similar or ())))}
        items = {one.id: one for one in _summaries(session, project, [*texts.values()], user)}
    listed = [(items[texts[row].id], similarity) for row, similarity in (similar or {}).items() if row in texts]
    return Reasons(
        state=state,
        words=[Word(start=start, end=end) for start, end in utf16_spans(body, content["spans"])],
        classes=[
            ClassReasons(class_=names[one["number"]], probability=one["probability"], weights=one["weights"])
            for one in content["classes"]
            if one["number"] in names
        ],
        similar=None
        if similar is None
        else [
            SimilarText(
                id=one.id,
                text=one.text,
                class_=one.class_,
                classes=one.classes,
                decisions=one.decisions,
                similarity=similarity,
            )
            for one, similarity in listed
        ],
    )


@router.get("/texts/{id:path}")
def get_text(id: str, user: Annotator, project: CurrentProject) -> TextDetails:
    """One text and its history."""
    with project.reads() as session:
        text = session.scalar(select(Text).where(Text.id == clean(id)))
        if text is None or (text.deleted is not None and not may(user.role, "owner")):
            raise MissingError(translatable("There is no such text."))
        given = (
            select(Annotation, Person.name, Class.name, LabelSet.classes)
            .join(Person, Person.number == Annotation.person_number)
            .outerjoin(Class, Class.number == Annotation.class_number)
            .outerjoin(LabelSet, LabelSet.number == Annotation.label_set)
            .where(Annotation.text_row == text.row)
            .order_by(Annotation.number)
        )
        if (person := _own_only(user)) is not None:
            given = given.where(Annotation.person_number == person)
        names = _all_names(session)
        annotations = [
            HistoryEntry(
                person=who,
                action=one.action,
                class_=name,
                flagged=one.flagged,
                reason=one.reason,
                comment=one.comment,
                decides=one.decides,
                at=one.at,
                copied=one.copy_of is not None,
                **shown_set(classes, names),
            )
            for one, who, name, classes in session.execute(given)
        ]
        [known] = _summaries(session, project, [text], user)
        return TextDetails(
            **{**known.model_dump(by_alias=False), "text": text.body},
            annotations=annotations,
            threads=thread_schemas(threads_of_text(session, user, text.row)),
            context=text.context or {},
        )


def _own_only(user: User) -> int | None:
    """The person whose annotations a user may see: annotators only their own, to label independently; None: all."""
    return None if may(user.role, "reviewer") else user.person.number


def _summaries(
    session: Session, project: Project, texts: Sequence[Text], user: User, ranked_by: str = ""
) -> list[TextSummary]:
    rows, person = [text.row for text in texts], _own_only(user)
    votes = {
        row: [vote for number, vote in by_person.items() if person in (None, number)]
        for row, by_person in votes_by_text(session, rows).items()
    }
    labels = settled_by_text(session, rows) if person is None else _own_labels(votes)
    names, active_names = _all_names(session), class_names(session)
    comments = select(Vote.text_row, Annotation.comment).join(Annotation, Annotation.number == Vote.annotation_number)
    comments = comments.where(Vote.text_row.in_(rows), Annotation.comment != "").order_by(Annotation.number)
    if person is not None:
        comments = comments.where(Vote.person_number == person)
    newest = dict(session.execute(comments).all())
    reasons = select(Vote.text_row, Annotation.reason).join(Annotation, Annotation.number == Vote.annotation_number)
    reasons = reasons.where(Vote.text_row.in_(rows), Annotation.reason != "").order_by(Annotation.number)
    if person is not None:
        reasons = reasons.where(Vote.person_number == person)
    stated = dict(session.execute(reasons).all())
    settings, known = read(session), {}
    if sees_predictions(user, settings):
        known = predictions_of(
            session, rows, probabilities_of(project, rows) if settings["multi_label"] else {}, ranked_by
        )
    return [
        TextSummary(
            id=text.id,
            text=excerpt(text.body),
            **_shown_label(labels.get(text.row), names, active_names),
            split=text.split,
            flagged=flagged(votes[text.row]),
            reason=stated.get(text.row, ""),
            comment=newest.get(text.row, ""),
            prediction=known.get(text.row),
            deleted=text.deleted is not None,
            group=text.look_alike_of if settings["look_alikes"] else None,
        )
        for text in texts
    ]


def _own_labels(votes: Mapping[int, Sequence[CastVote]]) -> dict[int, Resolution]:
    """The consensus of only these votes, those of one person, by the row of the text."""
    return {row: found for row, own in votes.items() if (found := consensus_of(own)) is not None}


def _shown_label(found: Resolution | None, names: Mapping[int, str], active_names: Mapping[int, str]) -> dict[str, Any]:
    """The fields of a label: `class_`, `source`, and those of a set of classes."""
    classes = found.label if found is not None and isinstance(found.label, ClassSet) else None
    name = names.get(found.label) if found is not None and isinstance(found.label, int) else None
    return {"class_": name, "source": None if found is None else found.source, **shown_set(classes, active_names)}


def _all_names(session: Session) -> dict[int, str]:
    """The names of all classes, also of merged and deleted ones."""
    return dict(session.execute(select(Class.number, Class.name).order_by(Class.position, Class.number)).all())
