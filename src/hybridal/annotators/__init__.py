"""Annotators: who gives the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Annotator(Protocol):
    """Labels texts. Gets id -> text, gives id -> class name.

    It may leave ids out: they stay unlabelled and can be chosen again.
    """

    def label(self, texts: Mapping[str, str]) -> Mapping[str, str]: ...
