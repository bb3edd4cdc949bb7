"""Which answers of a language model may become labels, and which of them can be compared with people's labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import or_, select
from sqlalchemy.orm import Session, load_only

from hybridal.annotators.team import in_overlap
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, LabelSet, LlmAnswer, Person, Text, Vote
from hybridal.app.labelling.stored_class_sets import Label
from hybridal.app.project_settings import read
from hybridal.tasks.label_cells import json_list

Share = Annotated[float, Field(ge=0, le=1)]


class Routing(BaseModel):
    """When an answer becomes a label.

    Attributes:
        threshold: The lowest confidence of an accepted answer.
        contradiction: Answers are not accepted if the trained model predicts another class with this probability; if a
            text may have several classes, one that the answer lacks.
        overlap: The share of texts that people label too, to evaluate the LLM.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)

    threshold: Share = 0.9
    contradiction: Share = 0.8
    overlap: Share = 0.1


def is_shared(rule: Routing, text: Text) -> bool:
    """Whether people label this text in any case, so that the LLM can be compared with them."""
    return text.split == "validation" or text.required_votes > 1 or in_overlap(text.id, rule.overlap)


# Texts to which a person gave a whole label. What people leave open in a set is filled in by the LLM itself.
_OF_PERSON = (
    select(Vote.text_row)
    .join(Person)
    .where(Person.kind == "person", ~Vote.partial, or_(Vote.class_number.is_not(None), Vote.label_set.is_not(None)))
)


def answers_with_labels(session: Session) -> dict[str, Label]:
    """What language models answered for texts of the pool that people labelled too, by text id; the newest answers.

    These are labels that people have overruled or confirmed, and answers to texts that people label in any case, if
    they are as confident as those that become labels. People got the other texts because they are difficult.
    """
    settings = read(session)
    rule, several = Routing.model_validate(settings["llm"].get("routing", {})), settings["multi_label"]
    numbers = {name: number for number, name in session.execute(select(Class.number, Class.name))}
    answers = (
        select(Text, LlmAnswer)
        .options(load_only(Text.id, Text.split, Text.required_votes))
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .where(Text.split == "pool", Text.row.in_(_OF_PERSON))
        .where(LlmAnswer.confidence >= rule.threshold)
        .order_by(LlmAnswer.at, LlmAnswer.question)
    )
    found: dict[str, Label] = {}
    for text, answer in session.execute(answers):
        label = _label(answer, several, numbers)
        if label is not None and is_shared(rule, text):
            found[text.id] = label
    votes = (
        select(Text.id, Vote.class_number, LabelSet.classes)
        .join(Vote, Vote.text_row == Text.row)
        .join(Person)
        .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
        .where(Text.split == "pool", Text.row.in_(_OF_PERSON), Person.kind == "llm")
        .order_by(Vote.annotation_number)
    )
    for id, number, classes in session.execute(votes):
        found[id] = number if classes is None else classes
    return found


def _label(answer: LlmAnswer, several: bool, numbers: Mapping[str, int]) -> Label | None:
    """The label of an answer; None if it was not usable, or names a class that was renamed since."""
    if answer.class_name is None:
        return None
    if not several:
        return numbers.get(answer.class_name)
    names: Any = json_list(answer.class_name)
    return ClassSet.of(numbers[name] for name in names) if {*names} <= numbers.keys() else None
