"""How far people agree, how the model comes along, and which texts need a decision."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from hybridal.app.insight.agreement import Pair, agreement, disagreements, pairs_of_people, ratings
from hybridal.app.insight.progress import progress, review_texts
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.consensus import counts
from hybridal.app.web.auth import Annotator, CurrentProject, Reviewer
from hybridal.app.web.schemas import CleanStr, Counts, Key, Schema, excerpt

router = APIRouter(prefix="/api")


class Confused(Schema):
    """How often one gave one class where the other gave the other."""

    one: str
    other: str
    times: int


class PairSchema(Schema):
    """Two people on the texts that both labelled."""

    one: str
    other: str
    texts: int
    agreed: float
    confused: list[Confused]


class PersonAgreement(Schema):
    """One person: how many texts they share with others, and on which share of these comparisons they agree."""

    name: str
    texts: int
    agreed: float


class AgreementSchema(Schema):
    """Krippendorff's α with its interval, and what it rests on; `note` says why where there is none."""

    alpha: float | None
    low: float | None
    high: float | None
    texts: int
    pairs: int
    note: str
    people: list[PersonAgreement]
    between: list[PairSchema]


class PersonLabel(Schema):
    """What one person says of a text."""

    person: str
    class_: str = Field(alias="class")
    comment: str


class Disagreement(Schema):
    """A text on which people differ."""

    id: str
    text: str
    annotations: list[PersonLabel]


class Disagreements(Schema):
    """The first of them."""

    items: list[Disagreement]


class Adjudication(Schema):
    """What a text's class shall be, whatever was said."""

    key: Key
    text: CleanStr
    class_: CleanStr = Field(alias="class", max_length=classes.LONGEST_NAME)


class Adjudicated(Schema):
    """It is decided."""

    ok: bool
    counts: Counts


@router.get("/agreement")
def get_agreement(_: Reviewer, project: CurrentProject) -> AgreementSchema:
    """Agreement on the texts that two or more people labelled."""
    with project.reads() as session:
        said = ratings(session)
    found, pairs = agreement(said), pairs_of_people(said)
    seen = Counter(person for _, person, _ in said)
    return AgreementSchema(
        alpha=found.alpha,
        low=found.low,
        high=found.high,
        texts=found.texts,
        pairs=found.pairs,
        note=found.note,
        people=[
            PersonAgreement(name=name, texts=texts, agreed=_agreed(name, pairs)) for name, texts in sorted(seen.items())
        ],
        between=[_pair_schema(pair) for pair in pairs],
    )


@router.get("/disagreements")
def get_disagreements(_: Reviewer, project: CurrentProject) -> Disagreements:
    """Texts that people labelled differently, and nobody decided."""
    with project.reads() as session:
        found = disagreements(session)
    return Disagreements(
        items=[
            Disagreement(id=text.id, text=excerpt(text.body), annotations=[_person_label(*one) for one in said])
            for text, said in found
        ]
    )


@router.post("/adjudications")
def adjudicate(given: Adjudication, user: Reviewer, project: CurrentProject) -> Adjudicated:
    """Decides what a text's class is: it wins over all other answers."""
    with project.sessions.begin() as session:
        annotate(session, user.person, given.text, "label", class_name=given.class_, key=given.key, decides=True)
        now = counts(session)
    return Adjudicated(ok=True, counts=Counts(**now))


def _person_label(person: str, name: str, comment: str) -> PersonLabel:
    return PersonLabel.model_validate({"person": person, "class": name, "comment": comment})


def _agreed(name: str, pairs: list[Pair]) -> float:
    mine = [pair for pair in pairs if name in (pair.one, pair.other)]
    return sum(pair.agreed * pair.texts for pair in mine) / sum(pair.texts for pair in mine)


def _pair_schema(pair: Pair) -> PairSchema:
    confused = [Confused(one=one, other=other, times=times) for (one, other), times in pair.confused.items()]
    return PairSchema(one=pair.one, other=pair.other, texts=pair.texts, agreed=pair.agreed, confused=confused)


@router.get("/progress")
def get_progress(_: Annotator, project: CurrentProject) -> dict[str, Any]:
    """The learning curve, calibration, the signal, what was saved, and the balance of the classes."""
    return progress(project)


@router.get("/review")
def get_review(_: Reviewer, project: CurrentProject) -> dict[str, list[dict[str, Any]]]:
    """Texts that the model is in doubt about, and labels that it contradicts."""
    with project.reads() as session:
        found = review_texts(session)
    return {kind: [{**one, "text": excerpt(one["text"])} for one in some] for kind, some in found.items()}
