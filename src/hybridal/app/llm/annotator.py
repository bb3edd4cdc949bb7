"""Who the LLM is to the project: a model under certain instructions."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Text, Verdict
from hybridal.app.labelling import classes
from hybridal.app.llm.plan import Plan
from hybridal.app.llm.prompt import Instructions
from hybridal.app.llm.routing import Rule
from hybridal.errors import UserError


@dataclass(frozen=True)
class Annotator:
    """Told something else, the same model is another annotator: its answers are counted apart."""

    model: str
    instructions: Instructions
    rule: Rule
    shown: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """How its answers are marked."""
        return f"{self.model} {self.instructions.fingerprint}"

    def insist(self) -> Annotator:
        """Itself, if there is something to choose from."""
        if len(self.instructions.classes) < 2:
            raise UserError("An LLM can label when there are at least two classes; add them first.")
        return self


def annotator(session: Session, plan: Plan) -> Annotator:
    """The LLM of this plan, told of the classes as they are now."""
    described = tuple((found.name, found.description) for found in classes.active(session))
    examples = session.execute(
        select(Text.body, Class.name)
        .join(Verdict, Verdict.text_row == Text.row)
        .join(Class, Class.number == Verdict.class_number)
        .where(Text.id.in_(plan.shown))
        .order_by(Text.row)
    )
    instructions = Instructions(described, tuple((body, name) for body, name in examples))
    return Annotator(plan.model, instructions, plan.routing.rule, frozenset(plan.shown))


def choose_examples(session: Session, each: int) -> tuple[str, ...]:
    """The first texts of each class that people labelled, and that nothing is measured on."""
    chosen: list[str] = []
    for found in classes.active(session) if each else []:
        chosen += session.scalars(
            select(Text.id)
            .join(Verdict, Verdict.text_row == Text.row)
            .where(Verdict.class_number == found.number, Verdict.source.in_(("people", "adjudicated")))
            .where(Text.split == "pool", Text.wanted == 1)
            .order_by(Verdict.changed)
            .limit(each)
        )
    return tuple(chosen)
