"""Random samples of the texts that would be left out of a class, which certify that nearly all of its texts are found.

A sample is drawn from all texts without a label for the class and set aside as random labels, so that the figures of
the model stay those of a random sample. Texts to which the model gives the class are not left out: the certificate uses
the others, which are a random sample of those left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Consensus, LabelSet, Prediction, RecallSample, Text, Vote, now
from hybridal.app.labelling.random_draws import never_annotated, put_aside
from hybridal.measures.recall_certificate import RecallCertificate, certify
from hybridal.randomness import stream
from hybridal.sentences import translatable

MAX_ORDER = 20_000  # texts of a list whose random order is stored; no certificate takes more labels


@dataclass(frozen=True)
class RecallState:
    """How far the certificate of a class is.

    Attributes:
        certificate: What the labels of the sample say; without a sample, what it would take.
        given: How many texts without a label for the class the model gives it.
        drawn: How many texts the sample has; 0 without a sample.
        outdated: Whether texts were added since it was drawn, so that it says nothing about them.
        undecided: The rows of the sample without a label for the class, in their order.
        unsettled: How many of these were skipped or are disputed.
    """

    certificate: RecallCertificate
    given: int
    drawn: int
    outdated: bool
    undecided: Sequence[int]
    unsettled: int


def recall_state(session: Session, number: int, several: bool) -> RecallState:
    """Return how far the certificate of a class is.

    Args:
        session: A session.
        number: The class.
        several: Whether a text may have several classes.
    """
    decided, sample = _decisions(session, number, several), _newest(session, number)
    found = sum(decided.values())
    if sample is None or _is_outdated(session, sample):
        left_out, given = _unknown(session, number, several, decided)
        certificate = certify(found, len(left_out), 0, 0, many_looks=True)
        return RecallState(certificate, len(given), 0, sample is not None, (), 0)
    rows = _rows(session, sample)
    undecided = [row for row in rows if row not in decided]
    sampled = rows.index(undecided[0]) if undecided else len(rows)
    missed = sum(decided[row] for row in rows[:sampled])
    certificate = certify(found, sample.left_out, sampled, missed, many_looks=True)
    voted = select(func.count(Vote.text_row.distinct())).where(Vote.text_row.in_(undecided))
    unsettled = session.scalar(voted) or 0
    return RecallState(certificate, len(sample.given), len(rows), False, undecided, unsettled)


def draw_recall_sample(session: Session, settings: Mapping[str, Any], number: int) -> None:
    """Draw as many random texts as the certificate of a class takes, or as many more as it still takes.

    Raises:
        ConflictError: If it takes no more, or all texts are labelled.
    """
    exclusive(session)
    several, sample = settings["multi_label"], _newest(session, number)
    state = recall_state(session, number, several)
    if sample is None or state.outdated:
        sample = _new_sample(session, settings, number)
        session.add(sample)
    elif state.undecided:
        raise ConflictError(translatable("Some texts of the sample are not labelled yet; label them first."))
    if state.certificate.holds or not sample.left_out:
        raise ConflictError(translatable("The certificate needs no more labels."))
    wanted = state.certificate.labels_needed or sample.left_out
    given = set(sample.given)
    counted = [*accumulate(row not in given for row in sample.random_order)]
    until = next((at + 1 for at, n in enumerate(counted) if n >= wanted), len(counted))
    frame = never_annotated(session)
    aside = set(frame) & set(sample.random_order[sample.drawn : until])
    put_aside(session, [row for row in sample.random_order if row in aside], len(frame))
    sample.drawn = until
    session.flush()


def rows_to_label(session: Session, number: int, several: bool) -> Sequence[int]:
    """The rows of the newest sample of a class that have no label for it yet."""
    sample = _newest(session, number)
    if sample is None or not sample.drawn:
        return ()
    decided = _decisions(session, number, several)
    return [row for row in _rows(session, sample) if row not in decided]


def _newest(session: Session, number: int) -> RecallSample | None:
    newest = select(RecallSample).where(RecallSample.class_number == number).order_by(RecallSample.number.desc())
    return session.scalars(newest.limit(1)).first()


def _is_outdated(session: Session, sample: RecallSample) -> bool:
    added = select(Text.row).where(Text.added > sample.made, Text.deleted.is_(None)).limit(1)
    return session.scalars(added).first() is not None


def _rows(session: Session, sample: RecallSample) -> list[int]:
    """The rows of the sample that were left out and are not deleted, in their order."""
    given = set(sample.given)
    rows = [row for row in sample.random_order[: sample.drawn] if row not in given]
    deleted = set(session.scalars(select(Text.row).where(Text.deleted.is_not(None))))
    return [row for row in rows if row not in deleted]


def _decisions(session: Session, number: int, several: bool) -> dict[int, bool]:
    """Whether texts belong to a class, by the consensus of people and files; without those that leave it open."""
    of_people = select(Consensus.text_row).join(Text, Text.row == Consensus.text_row)
    of_people = of_people.where(Consensus.source != "llm", Text.deleted.is_(None))
    if not several:
        found = session.execute(of_people.add_columns(Consensus.class_number)).all()
        return {row: given == number for row, given in found}
    sets: dict[int, bool | None] = {
        one: classes.decision(number) for one, classes in session.execute(select(LabelSet.number, LabelSet.classes))
    }
    numbers = session.execute(of_people.add_columns(Consensus.label_set)).all()
    return {row: bool(sets[one]) for row, one in numbers if one is not None and sets[one] is not None}


def _unknown(session: Session, number: int, several: bool, decided: Mapping[int, bool]) -> tuple[list[int], list[int]]:
    """The rows without a label for a class: those that would be left out, and those to which the model gives it."""
    predicted = select(Prediction.text_row)
    if several:
        sets = session.execute(select(LabelSet.number, LabelSet.classes))
        having = {one for one, classes in sets if number in classes.present}
        pairs = session.execute(predicted.add_columns(Prediction.label_set)).all()
        given = {row for row, one in pairs if one in having}
    else:
        given = set(session.scalars(predicted.where(Prediction.class_number == number)))
    rows = session.scalars(select(Text.row).where(Text.deleted.is_(None)).order_by(Text.row))
    unknown = [row for row in rows if row not in decided]
    return [row for row in unknown if row not in given], [row for row in unknown if row in given]


def _new_sample(session: Session, settings: Mapping[str, Any], number: int) -> RecallSample:
    decided = _decisions(session, number, settings["multi_label"])
    left_out, given = _unknown(session, number, settings["multi_label"], decided)
    before = session.scalar(select(func.count(RecallSample.number))) or 0
    rows = sorted([*left_out, *given])
    order = [rows[at] for at in stream(settings["seed"], "recall sample", before).permutation(len(rows)).tolist()]
    kept, also = order[:MAX_ORDER], set(given)
    return RecallSample(
        class_number=number,
        made=now(),
        left_out=len(left_out),
        random_order=kept,
        given=[row for row in kept if row in also],
        drawn=0,
    )
