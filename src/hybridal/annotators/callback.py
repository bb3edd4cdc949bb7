"""An annotator made of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Callback:
    """Asks a function of yours: it gets id -> text and gives id -> class name.

    >>> Callback(lambda texts: dict.fromkeys(texts, "short")).label({"a": "hm"})
    {'a': 'short'}
    """

    ask: Callable[[Mapping[Any, str]], Mapping[Any, Any]]

    def label(self, texts: Mapping[Any, str]) -> Mapping[Any, Any]:
        return self.ask(texts)
