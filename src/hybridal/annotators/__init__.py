"""Annotators: who gives the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Annotator(Protocol):
    """Labels texts. Gets id -> text, gives id -> class; a learner's annotator gets ids as its task was given them.

    It may leave ids out, or say None: they stay unlabelled and can be chosen again.
    """

    def label(self, texts: Mapping[Any, str]) -> Mapping[Any, Any]: ...
