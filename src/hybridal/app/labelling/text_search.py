"""Search texts by words, class and state, and list them by the model's predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    ScalarSelect,
    Select,
    String,
    and_,
    bindparam,
    func,
    select,
    type_coerce,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, Class, Consensus, LabelSet, LabelSetClass, Person, Prediction, Text, Vote
from hybridal.app.db.search import containing, contains
from hybridal.app.labelling.consensus import counts

State = Literal["labelled", "none", "unlabelled", "skipped", "flagged", "validation", "deleted"]
Order = Literal["sure", "doubt"]

PAGE_SIZE = 50
MAX_COUNTED = 1000  # matches of a search by words are not counted beyond this, since nearly all texts may match


@dataclass(frozen=True)
class Conditions:
    """What a text must meet.

    Attributes:
        words: Words or parts of words that the text contains.
        class_name: The class of its consensus.
        lacks: A class that its consensus denies.
        state: Its state; `none` is a label that gives no class.
        reason: Why a person skipped or flagged it.
        given: A class that the newest model gives it.
        withheld: A class that the newest model does not give it.
        confused: Two classes, each of which one person gave it instead of the other; or ("", "").
        by: Number of a person; only their annotations count for classes and state.
        class_group: A group, of which its consensus has a class.
    """

    words: str = ""
    class_name: str = ""
    lacks: str = ""
    state: State | None = None
    by: int | None = None
    given: str = ""
    withheld: str = ""
    confused: tuple[str, str] = ("", "")
    reason: str = ""
    class_group: str = ""

    @property
    def of_few(self) -> bool:
        """Whether few texts match, all of which have votes."""
        by_label = self.class_name or self.class_group or self.lacks or any(self.confused)
        labelled = by_label or self.reason
        return self.state in ("labelled", "none", "skipped", "flagged") or bool(labelled)


@dataclass(frozen=True)
class SearchPage:
    """One page of search results; `more` if there are more matches than were counted."""

    texts: list[Text]
    total: int
    more: bool = False

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE_SIZE))


def search(
    session: Session,
    words: str = "",
    class_name: str = "",
    state: State | None = None,
    page: int = 1,
    by: int | None = None,
    *,
    lacks: str = "",
    given: str = "",
    withheld: str = "",
    confused: tuple[str, str] = ("", ""),
    reason: str = "",
    class_group: str = "",
    predicted: str = "",
    order: Order | None = None,
    among: Sequence[int] | None = None,
    exact: bool = False,
) -> SearchPage:
    """Find the texts that match all conditions.

    Annotated texts are listed by their newest annotation, others in the order of the file.

    Args:
        session: A session of the project.
        words: See `Conditions`, also for the next two, `by` and `lacks`.
        class_name: The class of its consensus.
        state: Its state.
        page: Number of the page, from 1.
        by: Number of a person; only their annotations count.
        lacks: A class that its consensus denies.
        given: See `Conditions`, also for the next two.
        withheld: A class that the newest model does not give it.
        confused: Two classes between which people differ.
        reason: Why a person skipped or flagged it.
        class_group: See `Conditions`.
        predicted: The likeliest class according to the model.
        order: List by prediction: "sure" for the highest probability first, "doubt" for the highest entropy first.
        among: Rows to search among; they also give the order.
        exact: Count all matches of a search by words, not only `MAX_COUNTED`.
    """
    start = (page - 1) * PAGE_SIZE
    wanted = Conditions(words, class_name, lacks, state, by, given, withheld, confused, reason, class_group)
    if among is not None:
        # Thousands of parameters take PostgreSQL's driver longer than the query; numbers in its text do not.
        numbers: BindParameter[int] = bindparam("among", among, expanding=True, literal_execute=True)
        fit = select(Text.row).where(Text.row.in_(numbers))
        if predicted:
            fit = fit.where(Text.row.in_(_predictions(predicted, None).order_by(None)))
        fitting = {*session.scalars(fit.where(*_filters(session, Text.row, wanted)))}
        rows = [row for row in among if row in fitting]
        return SearchPage(_texts(session, rows[start : start + PAGE_SIZE]), len(rows))
    in_order = _in_order(session, wanted, predicted, order)
    if words.strip():  # one query for the page and the count
        most = max(MAX_COUNTED, start + PAGE_SIZE)
        rows = [*session.scalars(in_order if exact else in_order.limit(most + 1))]
        more = not exact and len(rows) > most
        return SearchPage(_texts(session, rows[start : start + PAGE_SIZE]), most if more else len(rows), more)
    rows = [*session.scalars(in_order.limit(PAGE_SIZE).offset(start))]
    if wanted.of_few or state not in (None, "unlabelled"):
        total = _count(session, in_order)
    elif predicted or order:  # subtract the labelled ones, which are few; deleted texts have no prediction
        listed = _predictions(predicted, order)
        labelled = listed.where(Prediction.text_row.in_(_labels(by)))
        total = _count(session, listed) - (_count(session, labelled) if state else 0)
    else:
        total = _count(session, in_order) if state else counts(session)["texts"]
    return SearchPage(_texts(session, rows), total)


def _in_order(session: Session, wanted: Conditions, predicted: str, order: Order | None) -> Select[int]:
    if predicted or order:
        return _predictions(predicted, order).where(*_filters(session, Prediction.text_row, wanted))
    if wanted.of_few:
        vote = aliased(Vote)
        answered = select(vote.text_row).where(*_filters(session, vote.text_row, wanted))
        if wanted.by is not None:
            answered = answered.where(vote.person_number == wanted.by)
        return answered.group_by(vote.text_row).order_by(func.max(vote.annotation_number).desc(), vote.text_row)
    rows = _rows(session, wanted)
    return rows.order_by(rows.selected_columns[0])


def _texts(session: Session, rows: Sequence[int]) -> list[Text]:
    found = {text.row: text for text in session.scalars(select(Text).where(Text.row.in_(rows)))}
    return [found[row] for row in rows]


def _count(session: Session, rows: Select[int]) -> int:
    return session.scalar(select(func.count()).select_from(rows.order_by(None).subquery())) or 0


def _predictions(predicted: str, order: Order | None) -> Select[int]:
    """Select the rows with a prediction, in the order of an index."""
    by = Prediction.entropy if order == "doubt" else Prediction.probability
    rows = select(Prediction.text_row).order_by(by.desc(), Prediction.text_row.desc())
    if not predicted:
        return rows
    return rows.where(Prediction.class_number == _number_of(predicted))


# A partial index finds the few deleted texts, so that a search does not check each text.
_DELETED = select(Text.row).where(Text.deleted.is_not(None))


def rows_found(session: Session, wanted: Conditions) -> list[int]:
    """Read the rows of all texts that match."""
    return [*session.scalars(_rows(session, wanted))]


def _rows(session: Session, wanted: Conditions) -> Select[int]:
    if wanted.state is None and not wanted.of_few:
        found = containing(session, wanted.words)
        return found.where(found.selected_columns[0].not_in(_DELETED))
    return select(Text.row).where(*_filters(session, Text.row, wanted))


Row = InstrumentedAttribute[int]


def _filters(session: Session, row: Row, wanted: Conditions) -> Iterator[ColumnElement[bool]]:
    """Build the conditions on the row of a text."""
    if wanted.words.strip():
        yield contains(session, wanted.words, row)
    if wanted.class_name:
        number = _number_of(wanted.class_name)
        yield row.in_(_with_class(wanted.by, lambda column: column == number))
    if wanted.class_group:
        numbers = select(Class.number).where(Class.group == wanted.class_group)
        yield row.in_(_with_class(wanted.by, lambda column: column.in_(numbers)))
    if wanted.lacks:
        yield row.in_(_without_class(wanted.by, wanted.lacks))
    if wanted.state is not None:
        yield _is(wanted.state, row, wanted.by)
    if wanted.given:
        yield row.in_(_given(wanted.given))
    if wanted.withheld:
        yield and_(row.in_(select(Prediction.text_row)), row.not_in(_given(wanted.withheld)))
    if wanted.reason:
        stated = select(Vote.text_row).join(Annotation, Annotation.number == Vote.annotation_number)
        yield row.in_(_of(wanted.by, stated.where(Annotation.reason == wanted.reason)))
    if any(wanted.confused):
        yield _differing(row, *wanted.confused)
    if wanted.state != "deleted":
        yield row.not_in(_DELETED)


def _labels(by: int | None) -> Select[int]:
    if by is None:
        return select(Consensus.text_row)
    return _of(by, select(Vote.text_row).where(~_SKIPPED))


_SKIPPED = Vote.class_number.is_(None) & Vote.label_set.is_(None)


def _with_class(by: int | None, is_wanted: Callable[[Any], ColumnElement[bool]]) -> Select[int]:
    """Select the rows of the texts that have a class for whose number this condition holds."""
    named = (is_wanted(LabelSetClass.class_number), LabelSetClass.present.is_(True))
    sets = select(LabelSetClass.set_number).where(*named)
    table = Consensus if by is None else Vote
    found = select(table.text_row).where(is_wanted(table.class_number) | table.label_set.in_(sets))
    return found if by is None else _of(by, found)


def _without_class(by: int | None, name: str) -> Select[int]:
    """Select the rows of the texts that are known not to have a class."""
    number = _number_of(name)
    table = Consensus if by is None else Vote
    found = select(table.text_row).where((table.class_number != number) | _in_sets_without(table.label_set, number))
    return found if by is None else _of(by, found)


def _in_sets_without(label_set: InstrumentedAttribute[int | None], number: ScalarSelect[int]) -> ColumnElement[bool]:
    """Whether a label set denies a class."""
    naming = select(LabelSetClass.set_number).where(LabelSetClass.class_number == number)
    # A set with `*` denies all classes that it does not name.
    others = select(LabelSet.number).where(
        number.is_not(None), type_coerce(LabelSet.classes, String).contains("/*/"), LabelSet.number.not_in(naming)
    )
    denied = naming.where(LabelSetClass.present.is_(False))
    return label_set.in_(denied) | label_set.in_(others)


def _given(name: str) -> Select[int]:
    """Select the rows of the texts to which the newest model gives a class."""
    number = _number_of(name)
    sets = select(LabelSetClass.set_number).where(LabelSetClass.class_number == number, LabelSetClass.present.is_(True))
    whole = Prediction.label_set.is_(None) & (Prediction.class_number == number)
    return select(Prediction.text_row).where(whole | Prediction.label_set.in_(sets))


def _differing(row: Row, one: str, other: str) -> ColumnElement[bool]:
    """Whether one person gave a text the class `one` and not `other`, and another person the reverse."""
    return and_(row.in_(_chosen(one, other)), row.in_(_chosen(other, one)))


def _chosen(name: str, not_this: str) -> Select[int]:
    """Select the rows of the texts to which a person gave one class and not another; decisions do not count."""
    number, other = _number_of(name), _number_of(not_this)
    named = select(LabelSetClass.set_number).where(
        LabelSetClass.class_number == number, LabelSetClass.present.is_(True)
    )
    sets = Vote.label_set.in_(named) & _in_sets_without(Vote.label_set, other)
    people = select(Person.number).where(Person.kind == "person")
    own = (~Vote.decides, Vote.person_number.in_(people))
    return select(Vote.text_row).where((Vote.class_number == number) | sets, *own)


def _number_of(name: str) -> ScalarSelect[int]:
    return select(Class.number).where(Class.name == name).scalar_subquery()


def _without_any(by: int | None) -> Select[int]:
    """Select the rows of the texts whose label is none of the classes."""
    table = Consensus if by is None else Vote
    empty = select(LabelSet.number).where(LabelSet.digest == ClassSet().digest)
    found = select(table.text_row).where(table.label_set.in_(empty))
    return found if by is None else _of(by, found)


def _is(state: State, row: Row, by: int | None) -> ColumnElement[bool]:
    labels, votes, later = _labels(by), _of(by, select(Vote.text_row)), aliased(Vote)
    # A correlated subquery, because most texts have no label.
    unlabelled = ~labels.where(labels.selected_columns[0] == row).exists()
    skipped = row.in_(votes.where(_SKIPPED))
    decided = select(later.text_row).where(
        later.text_row == Vote.text_row,
        later.decides,
        later.annotation_number >= Vote.annotation_number,
    )
    if by is not None:
        decided = decided.where(later.person_number == by)
    states: dict[str, ColumnElement[bool]] = {
        "labelled": row.in_(labels),
        "none": row.in_(_without_any(by)),
        "unlabelled": unlabelled,
        "skipped": and_(unlabelled, skipped),
        "flagged": row.in_(votes.where(Vote.flagged, ~decided.exists())),
        "validation": row.in_(select(Text.row).where(Text.split == "validation")),
        "deleted": row.in_(_DELETED),
    }
    return states[state]


def _of(by: int | None, votes: Select[int]) -> Select[int]:
    return votes if by is None else votes.where(Vote.person_number == by)
