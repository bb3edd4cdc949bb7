"""The language model as annotator: its settings, its instructions, its texts, and when its label is accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Select, String, or_, select, type_coerce
from sqlalchemy.orm import Session

from hybridal.annotators.llm.prompt import Example, Instructions, LlmLabel
from hybridal.app.db.schema import (
    Class,
    Consensus,
    LabelSet,
    LabelSetClass,
    Lease,
    LlmAnswer,
    QueuedText,
    Text,
    Vote,
    now,
)
from hybridal.app.labelling import classes
from hybridal.app.labelling.llm_answers import Routing
from hybridal.app.labelling.stored_class_sets import named
from hybridal.app.project_settings import read, write
from hybridal.errors import UserError
from hybridal.sentences import translatable

Route = Literal["accepted", "unsure", "contradicted", "unusable", "shared"]


@dataclass(frozen=True)
class ModelPrediction:
    """The trained model's prediction for a text."""

    class_name: str
    probability: float


def route(rule: Routing, label: LlmLabel | None, prediction: ModelPrediction | None, shared: bool) -> Route:
    """Decide on an answer: only an `accepted` one becomes a label; in all other cases people label the text.

    >>> route(Routing(), LlmLabel("bug", 0.95), None, shared=False)
    'accepted'
    >>> route(Routing(), LlmLabel("bug", 0.95), ModelPrediction("idea", 0.85), shared=False)
    'contradicted'
    """
    if shared:
        return "shared"
    if label is None:
        return "unusable"
    if label.confidence < rule.threshold:
        return "unsure"
    if (
        prediction is not None
        and prediction.class_name not in ({label.answer} if isinstance(label.answer, str) else label.answer)
        and prediction.probability >= rule.contradiction
    ):
        return "contradicted"
    return "accepted"


def queue_rank(label: LlmLabel | None) -> int:
    """The rank in the queue for people, before all texts of the trained model: the lowest confidence comes first.

    >>> queue_rank(None), queue_rank(LlmLabel("bug", 0.25)), queue_rank(LlmLabel("bug", 1.0))
    (-1001, -751, -1)
    """
    return round(1000 * label.confidence) - 1001 if label else -1001


class LlmPlan(BaseModel):
    """The settings that an owner can change; `examples` is the number of example texts per class in the prompt."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    base_url: str = Field(default="", max_length=500)
    model: str = Field(default="", max_length=200)
    budget_tokens: int = Field(default=500_000, ge=0, le=10**12)
    routing: Routing = Routing()
    examples: int = Field(default=0, ge=0, le=10)
    per_minute: int = Field(default=60, ge=1, le=100_000)
    parallel: int = Field(default=4, ge=1, le=64)
    timeout: float = Field(default=60, ge=1, le=600)


class LlmSettings(LlmPlan):
    """The stored settings: also whether a job is running, and the ids of the example texts `shown` to the LLM."""

    running: bool = False
    shown: tuple[str, ...] = ()


def load_settings(session: Session) -> LlmSettings:
    """Read the settings."""
    try:
        return LlmSettings.model_validate(read(session)["llm"])
    except ValidationError as error:
        wrong = ".".join(map(str, error.errors()[0]["loc"]))
        raise UserError(f"The setting 'llm' has an invalid '{wrong}': {error.errors()[0]['msg']}.") from error


def save_settings(session: Session, plan: LlmSettings) -> None:
    """Store the settings."""
    values: dict[str, Any] = plan.model_dump(mode="json")
    write(session, {"llm": values})


@dataclass(frozen=True)
class PromptedModel:
    """A model with its instructions; with other instructions it is another annotator with separate answers."""

    model: str
    instructions: Instructions
    rule: Routing
    shown: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name under which its answers are stored."""
        return f"{self.model} {self.instructions.fingerprint}"

    def validated(self) -> PromptedModel:
        """Return itself, or raise if there are fewer than two classes."""
        if len(self.instructions.classes) < 2:
            raise UserError(translatable("A language model needs at least two classes; add them first."))
        return self


def llm_annotator(session: Session, plan: LlmSettings) -> PromptedModel:
    """Build the annotator from the settings, the current classes, their examples and the guidelines."""
    active, settings = classes.active(session), read(session)
    several = settings["multi_label"]
    described = tuple((found.name, found.description) for found in active)
    written: list[Example] = [
        (body, frozenset([found.name]) if several else found.name)
        for found in active
        for body in classes.examples_of(found)
    ]
    examples = (_sets_of if several else _classes_of)(session, plan.shown)
    instructions = Instructions(described, (*written, *examples), settings["guidelines"].strip(), several)
    return PromptedModel(plan.model, instructions, plan.routing, frozenset(plan.shown))


def _classes_of(session: Session, ids: Sequence[str]) -> list[Example]:
    """The texts with these ids, each with its class."""
    found = session.execute(
        select(Text.body, Class.name)
        .join(Consensus, Consensus.text_row == Text.row)
        .join(Class, Class.number == Consensus.class_number)
        .where(Text.id.in_(ids), Class.archived == "")
        .order_by(Text.row)
    )
    return [(body, name) for body, name in found]


def _sets_of(session: Session, ids: Sequence[str]) -> list[Example]:
    """The texts with these ids, each with its classes."""
    names = {one.number: one.name for one in classes.active(session)}
    found = session.execute(
        select(Text.body, LabelSet.classes)
        .join(Consensus, Consensus.text_row == Text.row)
        .join(LabelSet, LabelSet.number == Consensus.label_set)
        .where(Text.id.in_(ids))
        .order_by(Text.row)
    )
    return [(body, frozenset(named(given, names))) for body, given in found if given.is_whole]


def choose_examples(session: Session, each: int) -> tuple[str, ...]:
    """The first texts of each class that people labelled, except those used for evaluation."""
    whole = type_coerce(LabelSet.classes, String).like("%/*/")
    chosen: dict[str, None] = {}
    for found in classes.active(session) if each else []:
        of_set = select(LabelSetClass.set_number).join(LabelSet).where(LabelSetClass.present.is_(True), whole)
        of_set = of_set.where(LabelSetClass.class_number == found.number)
        ids = session.scalars(
            select(Text.id)
            .join(Consensus, Consensus.text_row == Text.row)
            .where(or_(Consensus.class_number == found.number, Consensus.label_set.in_(of_set)))
            .where(Consensus.source.in_(("people", "adjudicated")))
            .where(Text.split == "pool", Text.required_votes == 1)
            .order_by(Consensus.annotation_number)
            .limit(each)
        )
        chosen |= dict.fromkeys(ids)
    return (*chosen,)


def llm_candidates(session: Session, llm: PromptedModel, n: int) -> list[Text]:
    """Up to n texts that the LLM has not answered yet.

    First those on which it can be compared with people, then the most useful texts of the trained model, then others.
    Texts leased to a person are left out.
    """
    found: dict[int, Text] = {}
    for source in _sources(llm):
        if len(found) < n:
            unseen = source.where(Text.id.not_in(llm.shown)).limit(n)
            found |= {text.row: text for text in session.scalars(unseen)}
    return [*found.values()][:n]


def _sources(llm: PromptedModel) -> Iterator[Select[Text]]:
    seen = select(LlmAnswer).where(LlmAnswer.text_row == Text.row, LlmAnswer.model == llm.name)
    unseen = select(Text).where(~seen.exists())
    # Ask about validation texts only after people have labelled them: until then its answers would have no use.
    labelled = select(Vote.text_row).where(or_(Vote.class_number.is_not(None), Vote.label_set.is_not(None)))
    yield unseen.where(
        Text.row.in_(labelled), or_(Text.split == "validation", Text.required_votes > 1), Text.vote_count > 0
    )
    leased = select(Lease).where(Lease.text_row == Text.row, Lease.until > now())
    free = unseen.where(Text.open, Text.vote_count == 0, Text.split == "pool", ~leased.exists())
    yield free.join(QueuedText, QueuedText.text_row == Text.row).order_by(QueuedText.rank)
    yield free.order_by(Text.random_order)
