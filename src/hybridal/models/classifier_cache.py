"""A classifier that serves one cell after the other: it is loaded once, and its graphs are recorded once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device


class Kept:
    """The classifier of the last work that came to a good end, for the next work of its kind."""

    def __init__(self) -> None:
        self._make: tuple[object, ...] = ()
        self._spare: Classifier | None = None
        self._lent: Classifier | None = None

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Inside, in this thread, the first who asks for a classifier may get one that has served before."""
        token = _SERVING.set(self)
        try:
            yield
            self._spare = self._lent or self._spare
        finally:
            self._lent = None
            _SERVING.reset(token)

    def drop(self) -> None:
        """What was left in the middle of its work is of no use to others."""
        self._spare = None

    def lend(self, make: tuple[object, ...], seed: int, new: Callable[[], Classifier]) -> Classifier:
        """One of this make, with the weights θ₀ of this seed."""
        if self._lent is not None:  # and in use
            return new()
        spare, self._spare = self._spare, None
        if spare is not None and self._make == make:
            spare.renew(seed)
        elif spare is not None:
            spare = None
            gc.collect()  # it and its graphs hold each other, and there may be no room for two
        found = spare or new()
        if found.renewable:
            self._make, self._lent = make, found
        return found


_SERVING: ContextVar[Kept | None] = ContextVar("hybridal.kept", default=None)


def classifier_for(
    backbone: Backbone, classes: Sequence[str], seed: int, device: Device, train_layers: int | None, pooling: str
) -> Classifier:
    """A classifier with the weights θ₀ of this seed, new or renewed."""

    def new() -> Classifier:
        return Classifier(backbone, classes, seed, device, train_layers, pooling)

    if (kept := _SERVING.get()) is None:
        return new()
    return kept.lend((backbone.folder, tuple(classes), device, train_layers, pooling), seed, new)
