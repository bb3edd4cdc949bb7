"""A classifier that serves one cell after the other: it is loaded once, and its graphs are recorded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device


class Kept:
    """The last classifier that was asked for while this was `serving`, if the work with it came to a good end."""

    def __init__(self) -> None:
        self._make: tuple[object, ...] = ()
        self._classifier: Classifier | None = None

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Inside, in this thread, who asks for a classifier may get one that has served before."""
        token = _SERVING.set(self)
        try:
            yield
        except BaseException:
            self.drop()
            raise
        finally:
            _SERVING.reset(token)

    def drop(self) -> None:
        """What was left in the middle of its work is of no use to others."""
        self._make, self._classifier = (), None

    def renewed(self, make: tuple[object, ...], seed: int) -> Classifier | None:
        """One of this make, if that is what is kept."""
        if self._classifier is None or self._make != make:
            self.drop()  # there may be no room for two
            return None
        self._classifier.renew(seed)
        return self._classifier

    def keep(self, make: tuple[object, ...], classifier: Classifier) -> None:
        if classifier.renewable:
            self._make, self._classifier = make, classifier


_SERVING: ContextVar[Kept | None] = ContextVar("hybridal.kept", default=None)


def classifier_for(
    backbone: Backbone, classes: Sequence[str], seed: int, device: Device, train_layers: int | None, pooling: str
) -> Classifier:
    """A classifier with the weights θ₀ of this seed, new or renewed."""
    kept, make = _SERVING.get(), (backbone.folder, tuple(classes), device, train_layers, pooling)
    if kept is not None and (renewed := kept.renewed(make, seed)) is not None:
        return renewed
    classifier = Classifier(backbone, classes, seed, device, train_layers, pooling)
    if kept is not None:
        kept.keep(make, classifier)
    return classifier
