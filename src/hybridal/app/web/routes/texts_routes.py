"""The list of texts, one text with its history, and more texts out of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import Form, Query, UploadFile
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ForbiddenError, MissingError
from hybridal.app.db.schema import Annotation, Class, Consensus, Person, Text, Vote, clean
from hybridal.app.insight.ranking import nearest
from hybridal.app.labelling.consensus import CastVote, consensus_of, flagged, votes_by_text
from hybridal.app.labelling.text_search import ON_A_PAGE, Order, State, search
from hybridal.app.labelling.text_source import preview_file, read_source
from hybridal.app.labelling.texts import LONGEST_ID, add_in_parts
from hybridal.app.people import User, may
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Owner, sees_predictions
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import PredictionSchema, Schema, excerpt, predictions_of
from hybridal.app.web.uploads import saved_upload
from hybridal.errors import UserError
from hybridal.tasks.columns import Columns
from hybridal.tasks.table import NoColumnError

router = Router(prefix="/api")


class TextSummary(Schema):
    """The beginning of a text and what is said of it; an annotator is told what they say themselves, and no more.

    `comment` is the newest one.
    """

    id: str
    text: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    source: str | None
    split: str
    flagged: bool
    comment: str
    prediction: PredictionSchema | None
    deleted: bool
    similarity: float | None = Field(default=None, description="To the text that the list was asked for by.")


class HistoryEntry(Schema):
    """An answer that somebody gave at some time."""

    person: str
    action: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    flagged: bool
    comment: str
    decides: bool
    at: float


class TextDetails(TextSummary):
    """The whole text with every answer to it, of which an annotator is told their own, and what else its file says."""

    annotations: list[HistoryEntry]
    context: dict[str, str]


class TextPage(Schema):
    """One page of a list."""

    items: list[TextSummary]
    total: int
    more: bool = Field(False, description="Whether there are more: of many that have the words, not all are counted.")
    pages: int


@router.get("/texts")
def list_texts(
    user: Annotator,
    project: CurrentProject,
    words: Annotated[str, Query(alias="search", max_length=200)] = "",
    class_name: Annotated[str, Query(alias="class", max_length=200)] = "",
    state: State | None = None,
    predicted: Annotated[str, Query(max_length=200, description="The likeliest class, by the model.")] = "",
    order: Annotated[Order | None, Query(description="By what the model says.")] = None,
    like: Annotated[str, Query(max_length=LONGEST_ID, description="The id of a text: the most similar first.")] = "",
    ids: Annotated[
        Sequence[str], Query(alias="id", max_length=ON_A_PAGE, description="Only these, in this order.")
    ] = (),
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    whole: bool = False,
    exact: Annotated[bool, Query(description="Count all that fit, however many and however long it takes.")] = False,
) -> TextPage:
    """The texts that fit, 50 a page: their beginnings, or the `whole` of each."""
    if state == "deleted" and not may(user.role, "owner"):
        raise ForbiddenError("Only an owner sees deleted texts.")
    with project.reads() as session:
        if (predicted or order) and not sees_predictions(user, read(session)):
            raise ForbiddenError("In this project annotators do not see predictions; ask an owner.")
        alike = _alike(session, project, clean(like)) if like else None
        found = search(
            session,
            clean(words),
            clean(class_name),
            state,
            page,
            by=_own_only(user),
            predicted=clean(predicted),
            order=order,
            among=_rows(session, ids) if ids else None if alike is None else [*alike],
            exact=exact,
        )
        items = _summaries(session, found.texts, user)
    if alike is not None:
        rows = {text.id: text.row for text in found.texts}
        items = [item.model_copy(update={"similarity": alike[rows[item.id]]}) for item in items]
    if whole:
        bodies = {text.id: text.body for text in found.texts}
        items = [item.model_copy(update={"text": bodies[item.id]}) for item in items]
    return TextPage(items=items, total=found.total, more=found.more, pages=found.pages)


def _rows(session: Session, ids: Sequence[str]) -> list[int]:
    rows = dict(session.execute(select(Text.id, Text.row).where(Text.id.in_(ids))).all())
    return [rows[id] for id in dict.fromkeys(ids) if id in rows]


def _alike(session: Session, project: Project, id: str) -> dict[int, float]:
    text = session.scalar(select(Text).where(Text.id == id))
    if text is None:
        raise MissingError("There is no such text.")
    found = nearest(project, text.row, text.digest)
    if found is None:
        raise MissingError("The model has not read this text yet; try again in a few minutes.")
    return found


@router.get("/texts/{id:path}")
def get_text(id: str, user: Annotator, project: CurrentProject) -> TextDetails:
    """One text and its history."""
    with project.reads() as session:
        text = session.scalar(select(Text).where(Text.id == clean(id)))
        if text is None or (text.deleted is not None and not may(user.role, "owner")):
            raise MissingError("There is no such text.")
        given = (
            select(Annotation, Person.name, Class.name)
            .join(Person, Person.number == Annotation.person_number)
            .outerjoin(Class, Class.number == Annotation.class_number)
            .where(Annotation.text_row == text.row)
            .order_by(Annotation.number)
        )
        if (person := _own_only(user)) is not None:
            given = given.where(Annotation.person_number == person)
        said = [
            HistoryEntry(
                person=who,
                action=one.action,
                class_=name,
                flagged=one.flagged,
                comment=one.comment,
                decides=one.decides,
                at=one.at,
            )
            for one, who, name in session.execute(given)
        ]
        [known] = _summaries(session, [text], user)
        return TextDetails(
            **{**known.model_dump(by_alias=False), "text": text.body}, annotations=said, context=text.context or {}
        )


def _own_only(user: User) -> int | None:
    """Whose answers they may see: who is asked for a second opinion must not know the first. None: everybody's."""
    return None if may(user.role, "reviewer") else user.person.number


def _summaries(session: Session, texts: Sequence[Text], user: User) -> list[TextSummary]:
    rows, person = [text.row for text in texts], _own_only(user)
    said = {
        row: [one for number, one in standing.items() if person in (None, number)]
        for row, standing in votes_by_text(session, rows).items()
    }
    labels = _labels(session, rows) if person is None else _own_labels(session, said)
    comments = select(Vote.text_row, Annotation.comment).join(Annotation, Annotation.number == Vote.annotation_number)
    comments = comments.where(Vote.text_row.in_(rows), Annotation.comment != "").order_by(Annotation.number)
    if person is not None:
        comments = comments.where(Vote.person_number == person)
    newest = dict(session.execute(comments).all())
    known = predictions_of(session, rows) if sees_predictions(user, read(session)) else {}
    return [
        TextSummary(
            id=text.id,
            text=excerpt(text.body),
            class_=labels.get(text.row, (None, None))[0],
            source=labels.get(text.row, (None, None))[1],
            split=text.split,
            flagged=flagged(said[text.row]),
            comment=newest.get(text.row, ""),
            prediction=known.get(text.row),
            deleted=text.deleted is not None,
        )
        for text in texts
    ]


def _labels(session: Session, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Their classes, and who settled them."""
    settled = select(Consensus.text_row, Class.name, Consensus.source).join(
        Class, Class.number == Consensus.class_number
    )
    found = session.execute(settled.where(Consensus.text_row.in_(rows)))
    return {row: (name, source) for row, name, source in found}


def _own_labels(session: Session, said: Mapping[int, Sequence[CastVote]]) -> dict[int, tuple[str, str]]:
    """The same as if nobody else had said anything."""
    settled = {row: found for row, votes in said.items() if (found := consensus_of(votes)) is not None}
    numbers = {one.class_number for one in settled.values()}
    names = dict(session.execute(select(Class.number, Class.name).where(Class.number.in_(numbers))).all())
    return {row: (names[one.class_number], one.source) for row, one in settled.items()}


MOST_ROWS = 1_000_000
Column = Annotated[str, Form(max_length=200)]
Choice = Annotated[bool, Form()]


class PreviewSchema(Schema):
    """The columns and first rows of a file, those chosen, and what would come of them; see `preview_file`."""

    columns: list[str]
    first: list[list[str]]
    text: str
    label: str | None
    id: str | None
    rows: int
    empty: int
    duplicates: int
    labels: dict[str, int]
    problem: str


class AddedSchema(Schema):
    """How many texts are new, how many were there already, and how many were left out."""

    added: int
    known: int
    empty: int
    duplicates: int


@router.post("/texts/preview")
def preview_texts(file: UploadFile, _: Owner, text: Column = "", label: Column = "", id: Column = "") -> PreviewSchema:
    """A look at a file before its texts are added. Without the name of a column of texts, columns are guessed."""
    chosen = Columns(text, label or None, id or None) if text else None
    with saved_upload(file) as path:
        found = preview_file(path, chosen, MOST_ROWS)
        facts = {name: value for name, value in vars(found).items() if name != "chosen"}
        # It names the file, which lay in a folder that is nobody's business.
        facts["problem"] = found.problem.replace(str(path), path.name)
    return PreviewSchema(**facts, **vars(found.chosen))


@router.post("/texts")
def upload_texts(
    file: UploadFile,
    _: Owner,
    project: CurrentProject,
    text: Column = "",
    label: Column = "",
    id: Column = "",
    drop_empty: Choice = False,
    drop_duplicates: Choice = False,
    suggested: Choice = False,
) -> AddedSchema:
    """Adds the texts of a file; `text`, `label` and `id` name its columns, and the others are kept as context.

    Its labels count as answers, unless they are only `suggested` to who labels the texts.
    """
    with saved_upload(file) as path:
        try:
            source = read_source(
                path,
                text=text or None,
                label=label or None,
                id=id or None,
                most=MOST_ROWS,
                drop_empty=drop_empty,
                drop_duplicates=drop_duplicates,
                suggested=suggested,
            )
        except NoColumnError as error:
            raise UserError(f"{error.found}: choose its columns of texts, labels and ids.") from error
    added = add_in_parts(project.sessions, source.rows, numbered=source.numbered, suggested=source.suggested)
    return AddedSchema(added=added.added, known=added.known, empty=source.empty, duplicates=source.duplicates)
