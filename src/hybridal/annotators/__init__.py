"""Annotators give the labels: people by a file or a function, a language model, or the known labels of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from hybridal.registry import Registry
from hybridal.tasks.answers import Answer
from hybridal.tasks.task import Task

Example = tuple[str, Answer]
"""A text that people labelled, and its label."""


class Annotator(Protocol):
    """Labels the texts that were chosen.

    A run calls `label` at the start of each round, a learner in `run`. The call may take as long as it likes; the
    recorded rounds are safe if the process ends meanwhile, and the same texts are requested again on resume. To use a
    plain function, wrap it in `hybridal.Callback`.

    Example:
        >>> class Keyword:
        ...     def label(self, texts: Mapping[Any, str]) -> Mapping[Any, Any]:
        ...         return {id: "refund" if "money" in text else "other" for id, text in texts.items()}
        >>> annotator: Annotator = Keyword()
        >>> annotator.label({"a": "I want my money back", "b": "Where is my parcel?"})
        {'a': 'refund', 'b': 'other'}
    """

    def label(self, texts: Mapping[Any, str]) -> Mapping[Any, Any]:
        """Label texts.

        Args:
            texts: The chosen texts by id; with a learner, the ids are those that its task was created with.

        Returns:
            Class names by id. Ids that are missing or None stay unlabelled and can be chosen again.
        """


@runtime_checkable
class ModelAnnotator(Annotator, Protocol):
    """An annotator that is a program and may be wrong more often than people, such as a language model.

    A learner does not measure on its labels, and counts them less where people label the same texts differently.

    Attributes:
        name: Identifies it in records.
    """

    name: str

    def begin(self, task: Task, folder: Path | None = None, notify: Callable[[str], object] | None = None) -> None:
        """Prepare for the texts of a task, before the first is labelled.

        Args:
            task: Has the classes and their descriptions.
            folder: Where to keep answers, so that a resumed run need not ask again; None if there is none.
            notify: Receives messages for people, such as that a server does not answer.
        """

    def show(self, examples: Sequence[Example]) -> None:
        """Receive texts that people have labelled so far; called before each batch.

        Args:
            examples: All of them, without validation texts.
        """


ANNOTATORS: Registry[Annotator] = Registry("annotators", "label", own=("llm", "simulated"))
