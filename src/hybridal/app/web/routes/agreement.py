"""How far people agree, where they do not, and who decides."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter
from pydantic import Field

from hybridal.app.insight.agreement import Pair, agreement, pairs_of_people
from hybridal.app.insight.opinions import disagreements, opinions
from hybridal.app.labelling import classes
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.tally import counts
from hybridal.app.web.access import Opened, Reviewer
from hybridal.app.web.excerpt import excerpt
from hybridal.app.web.shapes import Counts, Key, Shape, Words

router = APIRouter(prefix="/api")


class Confused(Shape):
    """How often one gave one class where the other gave the other."""

    one: str
    other: str
    times: int


class PairShape(Shape):
    """Two people on the texts that both labelled."""

    one: str
    other: str
    texts: int
    agreed: float
    confused: list[Confused]


class PersonShape(Shape):
    """One person: how many texts they share with others, and on which share of these comparisons they agree."""

    name: str
    texts: int
    agreed: float


class AgreementShape(Shape):
    """Krippendorff's α with its interval, and what it rests on; `note` says why where there is none."""

    alpha: float | None
    low: float | None
    high: float | None
    texts: int
    pairs: int
    note: str
    people: list[PersonShape]
    between: list[PairShape]


class Opinion(Shape):
    """What one person says of a text."""

    person: str
    class_: str = Field(alias="class")
    comment: str


class Disagreement(Shape):
    """A text on which people differ."""

    id: str
    text: str
    answers: list[Opinion]


class Disagreements(Shape):
    """The first of them."""

    items: list[Disagreement]


class Decision(Shape):
    """What a text's class shall be, whatever was said."""

    key: Key
    text: Words
    class_: Words = Field(alias="class", max_length=classes.LONGEST)


class Decided(Shape):
    """It is decided."""

    ok: bool
    counts: Counts


@router.get("/agreement")
def how_far(_: Reviewer, project: Opened) -> AgreementShape:
    """Agreement on the texts that two or more people labelled."""
    with project.reads() as session:
        said = opinions(session)
    found, pairs = agreement(said), pairs_of_people(said)
    seen = Counter(person for _, person, _ in said)
    return AgreementShape(
        alpha=found.alpha,
        low=found.low,
        high=found.high,
        texts=found.texts,
        pairs=found.pairs,
        note=found.note,
        people=[
            PersonShape(name=name, texts=texts, agreed=_agreed(name, pairs)) for name, texts in sorted(seen.items())
        ],
        between=[_shape(pair) for pair in pairs],
    )


@router.get("/disagreements")
def where_not(_: Reviewer, project: Opened) -> Disagreements:
    """Texts that people labelled differently, and nobody decided."""
    with project.reads() as session:
        found = disagreements(session)
    return Disagreements(
        items=[
            Disagreement(id=text.id, text=excerpt(text.body), answers=[_opinion(*one) for one in said])
            for text, said in found
        ]
    )


@router.post("/adjudications")
def decide(given: Decision, visitor: Reviewer, project: Opened) -> Decided:
    """Decides what a text's class is: it wins over all other answers."""
    with project.sessions.begin() as session:
        answer(session, visitor.person, given.text, "label", class_name=given.class_, key=given.key, decides=True)
        now = counts(session)
    return Decided(ok=True, counts=Counts(**now))


def _opinion(person: str, name: str, comment: str) -> Opinion:
    return Opinion.model_validate({"person": person, "class": name, "comment": comment})


def _agreed(name: str, pairs: list[Pair]) -> float:
    mine = [pair for pair in pairs if name in (pair.one, pair.other)]
    return sum(pair.agreed * pair.texts for pair in mine) / sum(pair.texts for pair in mine)


def _shape(pair: Pair) -> PairShape:
    confused = [Confused(one=one, other=other, times=times) for (one, other), times in pair.confused.items()]
    return PairShape(one=pair.one, other=pair.other, texts=pair.texts, agreed=pair.agreed, confused=confused)
