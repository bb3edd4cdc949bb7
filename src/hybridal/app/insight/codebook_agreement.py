"""Agreement between people before and after a change of the codebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, CodebookVersion, LabelSet, Person, Text, Vote
from hybridal.app.insight.annotator_agreement import Agreement, agreement
from hybridal.app.insight.set_agreement import set_agreement
from hybridal.app.labelling.annotations import not_withdrawn
from hybridal.app.labelling.classes import resolve_merges
from hybridal.app.labelling.codebook import Codebook, codebook_at, read_codebook
from hybridal.app.labelling.stored_class_sets import answer_of
from hybridal.app.project_settings import read


@dataclass(frozen=True)
class AgreementOverChange:
    """Krippendorff's α of the answers before and after a version of the codebook."""

    before: Agreement
    after: Agreement


def agreement_over_change(session: Session, version: int) -> AgreementOverChange:
    """Compare the answers that counted when a version was made with those given since.

    Before: each person's last answer to a text under an older version, by the classes of that time. After: the answers
    that count today and were given under this version or a later one; after a merge all answers that count today, since
    the merge itself changed the agreement. Decisions of reviewers do not count: they have seen the other labels.

    Args:
        session: A session of the project.
        version: The number of the version.

    Raises:
        MissingError: There is no such version.
    """
    if (made := session.get(CodebookVersion, version)) is None:
        raise MissingError(f"There is no version {version} of the codebook.")
    then, now = codebook_at(session, version - 1), read_codebook(session)
    merges = made.operation == "merge"
    before = _ratings(_answers_before(session, version), then)
    after = _ratings(_answers_since(session, 0 if merges else version), now)
    measure = set_agreement if read(session)["multi_label"] else agreement
    return AgreementOverChange(measure(before), measure(after))


Given = tuple[str, str, int | None, ClassSet | None]
"""Text, person, and the number of a class, or a set of classes."""


def _answers_before(session: Session, version: int) -> list[Given]:
    people = select(Annotation.text_row).join(Person, Person.number == Annotation.person_number)
    people = people.where(Annotation.codebook < version, Person.kind == "person", Annotation.action == "label")
    shared = people.group_by(Annotation.text_row).having(func.count(Annotation.person_number.distinct()) > 1)
    rows = session.execute(
        select(Text.id, Person.name, Annotation, LabelSet.classes)
        .join(Annotation, Annotation.text_row == Text.row)
        .join(Person, Person.number == Annotation.person_number)
        .outerjoin(LabelSet, LabelSet.number == Annotation.label_set)
        .where(Text.row.in_(shared), Text.deleted.is_(None), Annotation.codebook < version, Person.kind == "person")
        .order_by(Text.row, Annotation.number)
    )
    history: dict[tuple[str, str], list[Annotation]] = {}
    sets: dict[int, ClassSet | None] = {}
    for text, person, given, classes in rows:
        history.setdefault((text, person), []).append(given)
        sets[given.number] = classes
    last = [(*who, kept[-1]) for who, acts in history.items() if (kept := not_withdrawn(acts))]
    return [(text, person, one.class_number, sets[one.number]) for text, person, one in last if not one.decides]


def _answers_since(session: Session, version: int) -> list[Given]:
    given = (
        select(Text.id, Person.name, Vote.class_number, LabelSet.classes)
        .join(Vote, Vote.text_row == Text.row)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .join(Person, Person.number == Vote.person_number)
        .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
        .where(Person.kind == "person", ~Vote.decides, Text.deleted.is_(None), Text.vote_count > 1)
        .order_by(Text.row, Person.number)
    )
    rows = session.execute(given.where(Annotation.codebook >= version))
    return [(text, person, number, classes) for text, person, number, classes in rows]


def _ratings(answers: Iterable[Given], codebook: Codebook) -> list[tuple[str, str, Any]]:
    """The answers by the names of a codebook, with merged classes replaced and deleted ones left out."""
    now = resolve_merges({number: one["merged_into"] for number, one in codebook.items()})
    gone = {number for number, one in codebook.items() if one["archived"] == "deleted"}
    names: Mapping[int, str] = {
        number: one["name"] for number, one in codebook.items() if now[number] == number and number not in gone
    }
    found: list[tuple[str, str, Any]] = []
    for text, person, number, classes in answers:
        if classes is not None:
            left = classes.renamed(now, gone)
            found += [(text, person, answer_of(left, names))] if left.decides else []
        elif number is not None and (name := names.get(now[number])) is not None:
            found.append((text, person, name))
    return found
