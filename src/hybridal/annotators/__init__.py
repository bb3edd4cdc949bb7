"""Annotators give the labels: a file, a function, or the known labels of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


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
