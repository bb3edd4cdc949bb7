"""People and a model label together: a model most texts, people those that decide how good it is."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hybridal.annotators import Annotator, ModelAnnotator
from hybridal.tasks.answers import Answer

OVERLAP = 0.1
"""The share of texts that people label in addition to the model, by default."""

EXAM = 100
"""How many texts that people labelled a model is asked about, too, to see how good it is."""


@dataclass(frozen=True)
class Answers:
    """Labels by id, of people and of a model. A text that both labelled has two."""

    people: Mapping[Any, Answer] = field(default_factory=dict)
    model: Mapping[Any, Answer] = field(default_factory=dict)


@dataclass(frozen=True)
class Team:
    """A model labels; people label validation texts, a random share of the others, and what the model leaves.

    Attributes:
        model: Labels all texts that are not held for validation.
        people: Label the others; None if there are none.
        overlap: The share of the model's texts that people label too, to see how good it is.

    >>> from hybridal.annotators.callback import Callback
    >>> model, people = (Callback(lambda texts, by=by: dict.fromkeys(texts, by)) for by in ("model", "people"))
    >>> answers = Team(model, people, overlap=0.5).ask({"a": "…", "b": "…", "c": "…"}, for_people={"c"})
    >>> answers.people, answers.model
    ({'c': 'people', 'b': 'people'}, {'a': 'model', 'b': 'model'})
    """

    model: Annotator
    people: Annotator | None = None
    overlap: float = OVERLAP

    def ask(
        self, texts: Mapping[Any, str], for_people: Collection[Any], exam: Mapping[Any, str] | None = None
    ) -> Answers:
        """Ask for labels.

        Args:
            texts: Texts by id.
            for_people: Ids of texts that the model must not see.
            exam: Texts that people have labelled, for the model to label too.
        """
        own = {id: text for id, text in texts.items() if id not in for_people}
        given = self.model.label({**(exam or {}), **own})
        if self.people is None:
            return Answers(model=given)
        asked = [id for id in texts if id in for_people]
        asked += [id for id in own if given.get(id) is None or in_overlap(id, self.overlap)]
        return Answers(self.people.label({id: texts[id] for id in asked}) if asked else {}, given)

    @property
    def share_of_people(self) -> float:
        """The share of chosen texts that people label."""
        return 0.0 if self.people is None else self.overlap


def in_overlap(id: Any, share: float) -> bool:
    """Whether people label a text, too. It depends on its id only, so that no answer influences it.

    >>> sum(in_overlap(n, 0.25) for n in range(1000))
    256
    """
    digest = hashlib.sha256(f"overlap|{id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def team_of(annotator: Annotator, model: Annotator | None = None, overlap: float = OVERLAP) -> Team | Annotator:
    """Return who labels: a team if there is a model, else the annotator alone."""
    if model is not None:
        return Team(model, annotator, overlap)
    return Team(annotator) if isinstance(annotator, ModelAnnotator) else annotator
