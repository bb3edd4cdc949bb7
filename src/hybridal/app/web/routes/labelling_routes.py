"""Routes for labelling: the next texts, annotations, and undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ForbiddenError, MissingError
from hybridal.app.db.schema import Text, clean
from hybridal.app.insight.questions import questions_about
from hybridal.app.insight.ranking import likeliest, probabilities_of
from hybridal.app.insight.text_differences import Kind, differences
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, find_annotation, undo
from hybridal.app.labelling.bulk import MAX_TEXTS, decide_many, label_many, undo_many
from hybridal.app.labelling.codebook import recording
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.look_alike_groups import (
    MAX_COPIES,
    copy_answer,
    count_look_alikes,
    open_look_alikes,
    undo_copies,
)
from hybridal.app.labelling.queue import lease_texts, spare_texts
from hybridal.app.labelling.recall_samples import rows_to_label
from hybridal.app.labelling.texts import LONGEST_ID
from hybridal.app.people import User
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, sees_predictions
from hybridal.app.web.project_threads import Router
from hybridal.app.web.routes.classes_routes import may_define
from hybridal.app.web.routes.comments_routes import CommentedItem, with_threads
from hybridal.app.web.schemas import (
    BatchKey,
    ClassName,
    CleanStr,
    Counts,
    GivenClasses,
    GivenDecisions,
    Item,
    Items,
    Key,
    Reason,
    Saved,
    Schema,
    items_of,
)
from hybridal.app.web.truncation import truncation_point
from hybridal.sentences import translatable
from hybridal.tasks.answers import names_of

router = Router(prefix="/api")


class Next(Schema):
    """The next texts, and the number of unlabelled texts left for this person."""

    items: list[CommentedItem]
    left: int
    known: bool = Field(
        True, description="False if the model does not know the class `likely`; the most useful texts come then."
    )


class LookAlikesGiven(Schema):
    """To which look-alikes an answer is copied: to all that are open, without some."""

    without: list[CleanStr] = Field(default=[], max_length=MAX_COPIES, description="Ids of excluded texts.")


class NewAnnotation(Schema):
    """An annotation of a text."""

    key: Key
    text: CleanStr = Field(description="Its id.", examples=["t17"])
    action: Literal["label", "skip"]
    class_: CleanStr | None = Field(
        None, validation_alias="class", serialization_alias="class", max_length=classes.LONGEST_NAME, examples=["bug"]
    )
    classes: GivenClasses = None
    decisions: GivenDecisions = None
    flagged: bool = False
    reason: Reason | None = Field(None, description="Why the text is skipped or flagged.")
    comment: CleanStr = Field("", max_length=10_000)
    codebook: int | None = Field(
        None, ge=0, le=2**31 - 1, description="The version of the codebook that the annotator saw; null: the newest."
    )
    new_class: bool = Field(False, description="Add classes of which there is none of this name; annotators may not.")
    look_alikes: LookAlikesGiven | None = Field(
        None,
        description="Copy a label to the open look-alikes of the text; a request without it labels this text only.",
    )

    @property
    def named(self) -> list[str]:
        """All class names."""
        return [*([] if self.class_ is None else [self.class_]), *(self.classes or ()), *(self.decisions or ())]


class SavedAnnotation(Saved):
    """The annotation is stored; `copies` are its copies for look-alikes."""

    copies: int = 0


class UndoRequest(Schema):
    """The annotation to undo by its key `undoes`, by default the newest; `key` makes the request idempotent."""

    key: Key
    undoes: Key | None = None


class Undone(Schema):
    """The text of the undone annotation, if there was one."""

    item: CommentedItem | None
    counts: Counts


@router.get("/next")
def next_texts(
    user: Annotator,
    project: CurrentProject,
    n: Annotated[int, Query(ge=1, le=100)] = 5,
    likely: Annotated[
        str, Query(max_length=classes.LONGEST_NAME, description="Texts most likely of this class first.")
    ] = "",
    afresh: Annotated[bool, Query(description="Release the texts leased so far and return others.")] = False,
    questions: Annotated[
        bool, Query(description="If a text may have several classes: choose classes for yes/no questions.")
    ] = False,
) -> Next:
    """The next texts to label; they are leased to this person for some minutes.

    With `likely`, texts most likely of that class come before the most useful ones; validation texts come as always.
    Before all others come those of the random sample that shows whether nearly all texts of the class are found.
    With `questions`, texts of which the person has decided some classes come after all others.
    """
    wanted = _likely(project, user, clean(likely)) if likely else ()
    with project.sessions.begin() as session:
        settings = read(session)
        asks = questions and settings["multi_label"]
        number = classes.find(session, clean(likely)).number if likely else None
        first = () if number is None else rows_to_label(session, number, settings["multi_label"])
        leased = lease_texts(session, user.person, n, settings, wanted, afresh, unbegun=asks, first=first)
        if asks and not leased.texts:
            leased = lease_texts(session, user.person, n, settings, wanted, afresh, first=first)
        items = label_items(session, project, leased.texts, user, settings)
        if asks:
            about = questions_about(session, project, user.person, leased.texts, number if wanted else None)
            rows = [text.row for text in leased.texts]
            items = [
                item.model_copy(update={"questions": about.get(row), "look_alikes": 0})
                for row, item in zip(rows, items, strict=True)
            ]
    shown = with_threads(project, user, with_truncation(project, items))
    return Next(items=shown, left=leased.left, known=not likely or bool(wanted))


@router.get("/next/spare")
def next_spare_texts(
    user: Annotator, project: CurrentProject, n: Annotated[int, Query(ge=1, le=100)] = 40
) -> Items[Item]:
    """Further texts, to be labelled while there is no connection. They are not leased to this person.

    They come without comments, since a device keeps them.
    """
    with project.reads() as session:
        texts = spare_texts(session, user.person, n)
        items = label_items(session, project, texts, user, read(session))
    return Items(items=with_truncation(project, items))


def _likely(project: Project, user: User, name: str) -> Sequence[int]:
    with project.reads() as session:
        if not sees_predictions(user, read(session)):
            raise ForbiddenError(translatable("In this project annotators do not see predictions; ask an owner."))
        number = classes.find(session, name).number
    return likeliest(project, number)


@router.post("/annotations")
def create_annotation(given: NewAnnotation, user: Annotator, project: CurrentProject) -> SavedAnnotation:
    """Save an annotation; it is durable when this returns, with the copies for look-alikes if they were asked for."""
    with project.sessions.begin() as session:
        # Add the class only on request: a misspelt name must be an error, and a class that was renamed or deleted must
        # not come back because an open page still shows it.
        if given.named and given.new_class and may_define(session, user):
            _define(session, user, given.named, given.key)
        now = annotate(
            session,
            user.person,
            given.text,
            given.action,
            class_name=given.class_,
            class_names=given.classes,
            decisions=given.decisions,
            flagged=given.flagged,
            reason=given.reason or "",
            comment=given.comment,
            key=given.key,
            offered=True,
            codebook=given.codebook,
        )
    if given.look_alikes is None or given.action == "skip" or given.decisions is not None:
        return SavedAnnotation(ok=True, counts=Counts(**now))
    label = {"class_name": given.class_} if given.classes is None else {"class_names": given.classes}
    copies = copy_answer(project.sessions, user.person, given.key, label, given.look_alikes.without)
    with project.reads() as session:
        return SavedAnnotation(ok=True, counts=Counts(**counts(session)), copies=copies)


@router.post("/undo")
def undo_annotation(given: UndoRequest, user: Annotator, project: CurrentProject) -> Undone:
    """Undo one of the person's annotations, by default the newest, and lease its text to them again.

    Its copies for look-alikes are undone, too.
    """
    with project.sessions.begin() as session:
        text = undo(session, user.person, given.key, given.undoes)
    if text is not None:
        undo_copies(project.sessions, user.person, text.row)
    with project.reads() as session:
        items = label_items(session, project, [] if text is None else [text], user, read(session))
        now = counts(session)
    shown = with_threads(project, user, with_truncation(project, items))
    return Undone(item=next(iter(shown), None), counts=Counts(**now))


class ManyLabels(Schema):
    """Class names by the ids of texts; if a text may have several classes, lists of them."""

    key: BatchKey
    labels: dict[CleanStr, ClassName | list[ClassName]] = Field(
        min_length=1, max_length=MAX_TEXTS, examples=[{"t17": "bug"}]
    )


class OneDecision(Schema):
    """Whether some texts have a class; their other classes stay as they are."""

    key: BatchKey
    class_: ClassName = Field(alias="class", examples=["bug"])
    present: bool = True
    texts: list[CleanStr] = Field(min_length=1, max_length=MAX_TEXTS, description="Their ids.", examples=[["t17"]])


class UndoManyRequest(Schema):
    """The labels to undo by their key `undoes`; `key` makes the request idempotent."""

    key: BatchKey
    undoes: BatchKey


class SavedMany(Saved):
    """`n` texts were labelled or undone; the others were labelled meanwhile or are validation texts."""

    n: int


@router.post("/annotations/many")
def label_texts(given: ManyLabels, user: Annotator, project: CurrentProject) -> SavedMany:
    """Label several texts at once; skips validation texts and texts that the person has labelled already."""
    with project.reads() as session:
        for name in {*names_of(one if isinstance(one, str) else frozenset(one) for one in given.labels.values())}:
            classes.find_offered(session, name)
    n = label_many(project.sessions, user.person, given.labels, given.key)
    with project.reads() as session:
        return SavedMany(ok=True, n=n, counts=Counts(**counts(session)))


@router.post("/decisions/many")
def decide_texts(given: OneDecision, user: Annotator, project: CurrentProject) -> SavedMany:
    """Decide one class for several texts at once; skips validation texts and texts for which it is decided already.

    Undo it with `POST /api/undo/many`.
    """
    with project.reads() as session:
        classes.find_offered(session, given.class_)
    n = decide_many(project.sessions, user.person, given.texts, given.class_, given.present, given.key)
    with project.reads() as session:
        return SavedMany(ok=True, n=n, counts=Counts(**counts(session)))


@router.post("/undo/many")
def undo_labels(given: UndoManyRequest, user: Annotator, project: CurrentProject) -> SavedMany:
    """Undo labels that were given at once, except those that were changed since."""
    n = undo_many(project.sessions, user.person, given.key, given.undoes)
    with project.reads() as session:
        return SavedMany(ok=True, n=n, counts=Counts(**counts(session)))


class TextPart(Schema):
    """A part of a text: of both texts, or added to or removed from the text that it is compared with."""

    text: str
    kind: Kind


class LookAlike(Schema):
    """A look-alike of a text in parts; long parts of both texts are shortened."""

    id: str
    parts: list[TextPart]


@router.get("/look-alikes")
def list_look_alikes(
    user: Annotator,
    project: CurrentProject,
    id: Annotated[str, Query(max_length=LONGEST_ID, description="The id of a text.")],
) -> Items[LookAlike]:
    """The open texts that are almost the same as one text, to which an answer can be copied, with their differences."""
    with project.reads() as session:
        text = session.scalar(select(Text).where(Text.id == clean(id), Text.deleted.is_(None)))
        if text is None:
            raise MissingError(translatable("There is no such text."))
        alike = session.scalars(open_look_alikes(user.person, text)).all() if text.look_alike_of is not None else []
    return Items(
        items=[
            LookAlike(
                id=one.id,
                parts=[TextPart(text=part, kind=kind) for part, kind in differences(text.body, one.body)],
            )
            for one in alike
        ]
    )


def with_truncation(project: Project, items: list[Item]) -> list[Item]:
    """Add `read_to` to items. Called after the transaction, so that tokenizing does not prolong it."""
    return [item.model_copy(update={"read_to": truncation_point(project, item.text)}) for item in items]


def label_items(
    session: Session, project: Project, texts: Sequence[Text], user: User, settings: Mapping[str, Any]
) -> list[Item]:
    """Texts to label, with the decisions of this person so far if a text may have several classes."""
    shown, several = settings["show_predictions"], settings["multi_label"]
    probabilities = probabilities_of(project, [text.row for text in texts]) if shown and several else {}
    items = items_of(session, texts, shown, user.person.number if several else None, probabilities)
    alike = count_look_alikes(session, user.person, texts) if settings["look_alikes"] else {}
    return [
        item.model_copy(update={"look_alikes": alike[text.row]}) if text.row in alike else item
        for text, item in zip(texts, items, strict=True)
    ]


def _define(session: Session, user: User, names: Sequence[str], key: str) -> None:
    """Add classes that are new if the annotation is no repetition: a class may have been renamed since."""
    if find_annotation(session, user.person, key) is None:
        for name in names:
            try:
                classes.find(session, name)
            except MissingError:
                with recording(session, user.person):
                    classes.add(session, [name])
