"""An annotator made of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Callback:
    """Asks a function of yours: it gets id -> text and gives id -> class name.

    >>> Callback(lambda texts: dict.fromkeys(texts, "short")).label({"a": "hm"})
    {'a': 'short'}
    """

    ask: Callable[[Mapping[str, str]], Mapping[str, str]]

    def label(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        return self.ask(texts)
