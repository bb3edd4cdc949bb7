"""What follows from the votes on a text: its consensus, whether it is open, and the project's counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, delete, func, insert, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import execute
from hybridal.app.db.pipelining import PIPELINED
from hybridal.app.db.schema import Consensus, LabelSet, Lease, Person, Setting, Tally, Text, Vote
from hybridal.app.labelling.set_consensus import agreed_set, disputed, settled_classes
from hybridal.app.labelling.stored_class_sets import Label, is_complete, label_columns


@dataclass(frozen=True)
class CastVote:
    """A vote as a value: the annotator's kind, the label (None for a skip), and the number of the annotation.

    The label is the number of a class, or a set of classes if a text may have several. It is `copied` if the person
    answered for a look-alike of the text.
    """

    kind: str
    label: Label | None
    number: int = 0
    decides: bool = False
    flagged: bool = False
    copied: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether some of the classes are undecided."""
        return isinstance(self.label, ClassSet) and not self.label.is_whole


@dataclass(frozen=True)
class Resolution:
    """The label that the model learns, and its source."""

    label: Label
    source: str


_SOURCES = (("person", "people"), ("file", "file"), ("llm", "llm"))


def consensus_of(votes: Sequence[CastVote], majority: bool = False, per_class: bool = False) -> Resolution | None:
    """Decide the consensus: an adjudication wins, then people who agree, then the file, then the LLM.

    The file and the LLM count only if no person has labelled the text; if it may have several classes, only for the
    classes that no person has decided.

    Args:
        votes: All votes on the text.
        majority: Whether a label that more than half of the people gave is enough.
        per_class: If a text may have several classes: whether each class is settled by itself. Otherwise people agree
            if no class is contested.

    Returns:
        The label and its source; None while there is no consensus.

    >>> consensus_of([CastVote("file", 1), CastVote("person", 2)])
    Resolution(label=2, source='people')
    >>> consensus_of([CastVote("person", 1), CastVote("person", 2)]) is None
    True
    >>> consensus_of([CastVote("person", 1), CastVote("person", 2), CastVote("person", 2, number=9, decides=True)])
    Resolution(label=2, source='adjudicated')
    >>> consensus_of([CastVote("person", 1), CastVote("person", 2), CastVote("person", 2)], majority=True)
    Resolution(label=2, source='people')
    """
    if any(isinstance(vote.label, ClassSet) for vote in votes):
        return _consensus_of_sets(votes, majority, per_class)
    decisions = sorted((vote for vote in votes if vote.decides), key=lambda vote: vote.number)
    if decisions and decisions[-1].label is not None:
        return Resolution(decisions[-1].label, "adjudicated")
    for kind, source in _SOURCES:
        if found := classes_of(votes, kind):
            best, times = found.most_common(1)[0]
            settled = 2 * times > found.total() if majority and kind == "person" else len(found) == 1
            return Resolution(best, source) if settled else None
    return None


def _consensus_of_sets(votes: Sequence[CastVote], majority: bool, per_class: bool) -> Resolution | None:
    """Each source replaces the classes that the weaker ones have decided; decisions of reviewers come last."""
    settle = settled_classes if per_class else agreed_set
    found, source = ClassSet.partial({}), ""
    for kind, name in reversed(_SOURCES):
        if answers := sets_of((vote for vote in votes if not vote.decides), kind):
            found, source = found.updated(settle(answers, majority and kind == "person")), name
    for vote in sorted((vote for vote in votes if vote.decides), key=lambda vote: vote.number):
        if isinstance(vote.label, ClassSet):
            found, source = found.updated(vote.label), "adjudicated"
    return Resolution(found, source) if found.decides else None


def sets_of(votes: Iterable[CastVote], kind: str) -> list[ClassSet]:
    """The sets that annotators of one kind gave, without those that decide nothing."""
    labels = (vote.label for vote in votes if vote.kind == kind)
    return [label for label in labels if isinstance(label, ClassSet) and label.decides]


def flagged(votes: Sequence[CastVote]) -> bool:
    """Whether the text was flagged, and not adjudicated since.

    >>> flagged([CastVote("person", 1, number=3, flagged=True), CastVote("person", 1, number=4, decides=True)])
    False
    """
    decided = max((vote.number for vote in votes if vote.decides), default=-1)
    return any(vote.flagged and vote.number > decided for vote in votes)


def classes_of(votes: Sequence[CastVote], kind: str) -> Counter[int]:
    """Count the classes that annotators of one kind gave, if a text has exactly one."""
    return Counter(vote.label for vote in votes if vote.kind == kind and isinstance(vote.label, int))


def is_disputed(votes: Sequence[CastVote], consensus: Resolution | None) -> bool:
    """Whether people disagree, and neither the majority nor a reviewer has settled it."""
    if contested := disputed(sets_of((vote for vote in votes if not vote.decides), "person")):
        return consensus is None or (
            isinstance(consensus.label, ClassSet) and bool(contested & consensus.label.unknown)
        )
    return consensus is None and len(classes_of(votes, "person")) > 1


COUNT_NAMES = ("texts", "labelled", "validation", "pool", "copied", "skipped", "flagged", "disagreements")

_MOVE = (
    update(Tally)
    .values({name: getattr(Tally, name) + bindparam(f"by_{name}") for name in COUNT_NAMES})
    .execution_options(**PIPELINED)
)
_COUNTS = select(*(getattr(Tally, name) for name in COUNT_NAMES))


def counts_of(split: str, votes: Sequence[CastVote], consensus: Resolution | None) -> Counter[str]:
    """Compute what one text adds to the counts.

    >>> votes = [CastVote("person", 1, number=7, flagged=True), CastVote("person", 2)]
    >>> sorted(counts_of("pool", votes, None).elements())
    ['disagreements', 'flagged', 'texts']
    """
    holds = {
        "texts": True,
        "labelled": consensus is not None,
        split: consensus is not None,
        "copied": consensus is not None and is_only_copied(votes),
        "skipped": consensus is None and any(vote.label is None for vote in votes),
        "flagged": flagged(votes),
        "disagreements": is_disputed(votes, consensus),
    }
    return Counter(name for name, true in holds.items() if true)


def is_only_copied(votes: Sequence[CastVote]) -> bool:
    """Whether all labels of a text are copies, so that no annotator has answered for the text itself.

    >>> is_only_copied([CastVote("person", 1, copied=True)]), is_only_copied([CastVote("person", 1)])
    (True, False)
    """
    return all(vote.copied for vote in votes if vote.label is not None)


Moved = dict[str, int]
"""The change of each count."""


def move_counts(session: Session, before: Counter[str], now: Counter[str]) -> Moved:
    """Update the counts by the difference. Do it last in a transaction, since it locks the counts until the commit."""
    moved = {name: now[name] - before[name] for name in COUNT_NAMES}
    if any(moved.values()):
        execute(session, _MOVE, **{f"by_{name}": by for name, by in moved.items()})
    return moved


def counts(session: Session) -> dict[str, int]:
    """Read the current counts."""
    return dict(zip(COUNT_NAMES, execute(session, _COUNTS).one(), strict=True))


_MAX_COUNTED = 10_000  # new labels are not counted beyond this


def new_labels(session: Session, since: int) -> int:
    """Count the pool labels that came or changed after this annotation."""
    changed = (
        select(Consensus.text_row)
        .where(Consensus.annotation_number > since)
        .order_by(Consensus.annotation_number)
        .limit(_MAX_COUNTED)
    )
    # With a condition `split == "pool"` SQLite would scan all texts of the pool.
    pool = func.sum(case((Text.split == "pool", 1), else_=0))
    return session.scalar(select(pool).where(Text.row.in_(changed))) or 0


_LOCKED = select(Text).with_for_update(key_share=True).execution_options(populate_existing=True)
_OF_ROW = _LOCKED.where(Text.row == bindparam("row"))
_OF_ID = _LOCKED.where(Text.id == bindparam("id"))
VOTE = (
    Person.kind,
    Vote.class_number,
    LabelSet.classes,
    Vote.annotation_number,
    Vote.decides,
    Vote.flagged,
    Vote.copied,
)
"""The columns of a `CastVote`; see `cast_vote`."""


def cast_vote(kind: str, class_number: int | None, classes: ClassSet | None, *more: Any) -> CastVote:
    """Make a vote from the columns `VOTE`."""
    return CastVote(kind, class_number if classes is None else classes, *more)


_VOTES = (
    select(Vote.text_row, Vote.person_number)
    .add_columns(*VOTE)
    .join(Person)
    .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
    .where(Vote.text_row.in_(bindparam("rows", expanding=True)))
)
_THEIRS: dict[str, Any] = {"text_row": bindparam("row"), "person_number": bindparam("person")}
_ADD_VOTE = insert(Vote).execution_options(**PIPELINED)
_REMOVE_VOTE = delete(Vote).filter_by(**_THEIRS).execution_options(**PIPELINED)
_END_LEASE = delete(Lease).filter_by(**_THEIRS).execution_options(**PIPELINED)
_ADD_CONSENSUS = insert(Consensus).execution_options(**PIPELINED)
_KEPT = (
    select(Consensus.text_row, Consensus.class_number, LabelSet.classes, Consensus.source)
    .outerjoin(LabelSet, LabelSet.number == Consensus.label_set)
    .where(Consensus.text_row.in_(bindparam("rows", expanding=True)))
)
_REMOVE_CONSENSUS = delete(Consensus).where(Consensus.text_row == bindparam("row")).execution_options(**PIPELINED)
_UPDATE_TEXT = (
    update(Text)
    .where(Text.row == bindparam("of"))
    .values(vote_count=bindparam("by_people"), open=bindparam("still_open"))
    .execution_options(**PIPELINED)
)


def votes_on(session: Session, text: Text) -> dict[int, CastVote]:
    """Read the votes on a text, by the number of the person."""
    return votes_by_text(session, [text.row])[text.row]


def votes_by_text(session: Session, rows: Sequence[int]) -> dict[int, dict[int, CastVote]]:
    """Read the votes on some texts, by the row of the text and the number of the person."""
    votes: dict[int, dict[int, CastVote]] = {row: {} for row in rows}
    for row, person, *what in execute(session, _VOTES, rows=rows):
        votes[row][person] = cast_vote(*what)
    return votes


def settled_by_text(session: Session, rows: Sequence[int]) -> dict[int, Resolution]:
    """Read the consensus of some texts, by the row of the text; those without one are missing."""
    found = execute(session, _KEPT, rows=rows)
    return {row: Resolution(number if classes is None else classes, source) for row, number, classes, source in found}


def record_vote(
    session: Session,
    text: Text,
    before: Mapping[int, CastVote],
    votes: Mapping[int, CastVote | None],
    answer: int,
    person: Person,
) -> Moved:
    """Replace a person's vote, and update what follows from it.

    Args:
        session: A session that has locked the text, since two people may annotate it at the same moment.
        text: The text.
        before: The votes on the text so far, by the number of the person.
        votes: The person's new vote, and those of others that change with it; None removes a vote.
        answer: The number of the annotation that causes the change.
        person: The annotator.

    Returns:
        The change of the project's counts.
    """
    after = dict(before)
    for number, vote in votes.items():
        if vote == before.get(number):
            continue
        if after.pop(number, None) is not None:
            execute(session, _REMOVE_VOTE, row=text.row, person=number)
        if vote is not None:
            after[number] = vote
            execute(
                session,
                _ADD_VOTE,
                text_row=text.row,
                person_number=number,
                annotation_number=vote.number,
                **label_columns(session, vote.label),
                partial=vote.is_partial,
                flagged=vote.flagged,
                decides=vote.decides,
                copied=vote.copied,
            )
    execute(session, _END_LEASE, row=text.row, person=person.number)
    return update_consensus(session, [Change(text, [*before.values()], [*after.values()], answer)])


_RULES = select(Setting.name, Setting.value).where(Setting.name.in_(("on_disagreement", "consensus_per")))
_ALL_RULES = [(majority, per_class) for per_class in (False, True) for majority in (False, True)]


def consensus_rules(session: Session) -> tuple[bool, bool]:
    """Whether a majority settles disagreements in this project, and whether each class is settled by itself."""
    found = {one.name: one.value for one in execute(session, _RULES)}
    return found.get("on_disagreement") == "majority", found.get("consensus_per") == "class"


@dataclass(frozen=True)
class Change:
    """The votes on a text before and after they changed, and the annotation that changed them."""

    text: Text
    before: Sequence[CastVote]
    after: Sequence[CastVote]
    answer: int


def update_consensus(session: Session, changes: Sequence[Change]) -> Moved:
    """Update consensus, openness and counts of texts whose votes changed; deleted texts have none of them."""
    several = any(len(one.before) > 1 or len(one.after) > 1 for one in changes)
    rules = consensus_rules(session) if several else (False, False)
    settled = _settled(session, changes)
    gone: list[dict[str, Any]] = []
    made: list[dict[str, Any]] = []
    states: list[dict[str, Any]] = []
    counted: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for one in changes:
        if one.text.deleted is not None:
            continue
        row, split = one.text.row, one.text.split
        was, now = settled[row], consensus_of(one.after, *rules)
        if was is not None and was != now:
            gone.append({"row": row})
        if now is not None and was != now:
            label = label_columns(session, now.label)
            made.append({"text_row": row, **label, "source": now.source, "annotation_number": one.answer})
        still_open = is_open(one.text.required_votes, one.after)
        states.append({"of": row, "by_people": count_people(one.after), "still_open": still_open})
        counted[0].update(counts_of(split, one.before, was))
        counted[1].update(counts_of(split, one.after, now))
    for statement, values in ((_REMOVE_CONSENSUS, gone), (_ADD_CONSENSUS, made), (_UPDATE_TEXT, states)):
        if values:
            session.flush()
            session.connection().execute(statement, values if len(values) > 1 else values[0])
    return move_counts(session, *counted)


def _settled(session: Session, changes: Sequence[Change]) -> dict[int, Resolution | None]:
    """The consensus before. If it depends on the rules it is read, since they may have changed."""
    found = {one.text.row: consensus_of(one.before) for one in changes}
    unsure = [one.text.row for one in changes if len({consensus_of(one.before, *rules) for rules in _ALL_RULES}) > 1]
    if unsure:
        found |= dict.fromkeys(unsure)
        found |= settled_by_text(session, unsure)
    return found


def count_people(votes: Sequence[CastVote]) -> int:
    """Count the people who labelled the text; adjudications and answers to some of the classes do not count."""
    return sum(
        vote.kind == "person" and vote.label is not None and not vote.is_partial and not vote.decides for vote in votes
    )


def is_open(required_votes: int, votes: Sequence[CastVote]) -> bool:
    """Whether people may still be asked: there is no consensus, or fewer people have labelled it than required.

    >>> person, file = CastVote("person", 1), CastVote("file", 1)
    >>> is_open(1, []), is_open(1, [person]), is_open(2, [person]), is_open(2, [file])
    (True, False, True, False)
    """
    if any(vote.decides and not vote.is_partial for vote in votes):
        return False
    people = count_people(votes)
    found = consensus_of(votes)
    return people < required_votes and (people > 0 or found is None or not is_complete(found.label))


def lock_texts(session: Session, which: ColumnElement[bool]) -> None:
    """Lock all texts of a transaction before its counts change, always in the same order.

    Otherwise two transactions could deadlock: one holds the counts and waits for a text of the other.
    """
    session.execute(select(Text.row).where(which).order_by(Text.row).with_for_update(key_share=True))


def lock_text(session: Session, text_row: int) -> Text:
    """Read a text and lock it until the transaction ends."""
    return session.scalars(_OF_ROW, {"row": text_row}).one()


def find_and_lock(session: Session, text_id: str) -> Text | None:
    """Read a text by its id and lock it; None if there is no such text."""
    return session.scalars(_OF_ID, {"id": text_id}).one_or_none()
