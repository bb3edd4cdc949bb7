"""Reuse one loaded classifier, with its recorded CUDA graphs, for consecutive cells of a study."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device


class ClassifierCache:
    """Holds the idle classifiers of the last cell, one per configuration.

    Loading weights and recording graphs takes seconds; consecutive cells of the same task and backbone differ only in
    their seed. `borrow` hands out the idle classifier whose configuration matches and draws its head again; otherwise
    it builds a new one. A cell that chooses among several encoders borrows one classifier for each.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[object, ...], Classifier] = {}
        self._borrowed: dict[tuple[object, ...], Classifier] = {}

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Make this cache the current thread's cache for the duration of one cell.

        A classifier borrowed inside becomes idle again only if the block completes without an exception.
        """
        token = _ACTIVE.set(self)
        try:
            yield
            self._idle = self._borrowed or self._idle
        finally:
            self._borrowed = {}
            _ACTIVE.reset(token)

    def clear(self) -> None:
        """Discard the idle classifiers, for example after a cell failed halfway."""
        self._idle = {}

    def borrow(self, config: tuple[object, ...], seed: int, build: Callable[[], Classifier]) -> Classifier:
        """Return a classifier with the initial weights of `seed`.

        Args:
            config: Everything but the seed that a classifier is built from; must match for reuse.
            seed: Seed of the head's initial weights.
            build: Called if no idle classifier matches, or if the one of this configuration is already borrowed.

        Returns:
            A classifier that equals, bit for bit, the one that `build` would return.
        """
        if config in self._borrowed:
            return build()
        found = self._idle.pop(config, None)
        if found is not None:
            found.reseed(seed)
        else:
            if self._idle:
                self._idle = {}
                gc.collect()  # classifier and graphs form a reference cycle, and there may be no room for more
            found = build()
        if found.can_reseed:
            self._borrowed[config] = found
        return found


_ACTIVE: ContextVar[ClassifierCache | None] = ContextVar("hybridal.classifier_cache", default=None)


def classifier_for(
    backbone: Backbone, classes: Sequence[str], seed: int, device: Device, train_layers: int | None, pooling: str
) -> Classifier:
    """A classifier with the initial weights of a seed, from the active cache if there is one; see `Classifier`."""

    def build() -> Classifier:
        return Classifier(backbone, classes, seed, device, train_layers, pooling)

    cache = _ACTIVE.get()
    if cache is None:
        return build()
    return cache.borrow((backbone.folder, tuple(classes), device, train_layers, pooling), seed, build)
