"""What signals and acquisition functions may see of the model after a round; every part is computed on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hybridal.core.outputs import UNKNOWN, Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.errors import UserError
from hybridal.measures.objective import Objective
from hybridal.models.training import forward_passes
from hybridal.randomness import key
from hybridal.signals import Sample
from hybridal.system.stopwatch import Stopwatch
from hybridal.updates import Weights

if TYPE_CHECKING:
    from hybridal.models.transformer import TransformerModel

Result = TypeVar("Result")


class ModelView:
    """What signals may see: the model as it is now (see `hybridal.signals.ModelView`)."""

    def __init__(self, model: TransformerModel, validation: Outputs | None, pool: Pool) -> None:
        self._model, self._validation, self._pool = model, validation, pool
        self.validation_labels, self.objective = model.validation.labels, model.objective

    @property
    def validation(self) -> Outputs:
        if self._validation is None:
            raise UserError("This signal looks at validation texts, and the task has none with labels; use alpha.")
        return self._validation

    def weights(self) -> Weights:
        return {name: p.detach() for name, p in self._model.classifier.trainable().items()}

    def matrices(self) -> Weights:
        return self._model.classifier.matrices()

    def gradient_norm(self) -> float:
        _ = self.validation  # raises if there is none: the norm would be 0 and look stable
        known = self._model.validation
        model = self._model
        return forward_passes.gradient_norm(model.classifier, known.source, known.rows, known.labels, model.loss)

    def labelled(self) -> tuple[Outputs, Ints]:
        rows = self._pool.order
        outputs = forward_passes.predict(self._model.classifier, self._model.train_source, rows, features=True)
        return outputs, self._pool.labels[rows]

    def unlabelled(self) -> Sample:
        return self._sample

    @cached_property
    def _sample(self) -> Sample:
        model, pool = self._model, self._pool
        free = pool.labels[model.sample] == UNKNOWN
        rows = model.sample[free]
        if not len(rows):  # all are labelled, so nothing can have changed
            none = np.empty((0, len(model.classes)), dtype=np.float32)
            return Sample(rows, none, lambda: none)
        logits = model.sample_logits(pool)[free]

        def probe() -> Floats:
            return model.probe(pool).logits(model.sample_features[free])

        return Sample(rows, logits, probe)


class ScoredCandidates:
    """What acquisition functions may see; every pass over the texts happens once, and its time is counted."""

    def __init__(self, model: TransformerModel, rows: Ints, pool: Pool, round: int, temperature: float) -> None:
        self._model, self._rows, self._pool = model, rows, pool
        self._round, self._temperature = round, temperature
        self.objective: Objective = model.objective
        self._watch = Stopwatch(model.classifier.device.synchronise)
        self.ids = [model.train_ids[row] for row in rows]

    @property
    def seconds(self) -> float:
        return self._watch.seconds.get("score", 0.0)

    def probabilities(self) -> Floats:
        # A pass with features, if there was one, also has the logits.
        outputs = self.__dict__.get("_featured") or self._plain
        return self.objective.probabilities(outputs.logits, self._temperature)

    def known(self, temperature: float) -> Floats | None:
        """Probabilities at this temperature if a pass over the texts has been made; None if it has not."""
        outputs = self.__dict__.get("_featured") or self.__dict__.get("_plain")
        return None if outputs is None else self.objective.probabilities(outputs.logits, temperature)

    def thresholds(self) -> tuple[float, ...]:
        return self._thresholds

    @cached_property
    def _thresholds(self) -> tuple[float, ...]:
        if not self.objective.multi_label:
            return ()
        outputs = self.__dict__.get("_featured") or self._plain
        return self.objective.thresholds(outputs.logits, self._temperature, self._model.rules.thresholds)

    def embeddings(self) -> Floats:
        return present(self._featured.embedding)

    def sampled_probabilities(self, passes: int) -> Floats:
        seed = key(self._model.seed, "sampled", self._round)
        samples = self._timed(
            lambda: forward_passes.sampled_logits(
                self._model.classifier, self._model.train_source, self._rows, passes, seed
            )
        )
        return np.stack([self.objective.probabilities(logits, self._temperature) for logits in samples])

    def labelled_probabilities(self) -> Floats:
        return self.objective.probabilities(self._labelled.logits, self._temperature)

    def labelled_embeddings(self) -> Floats:
        return present(self._labelled.embedding)

    @cached_property
    def _plain(self) -> Outputs:
        return self._pass(self._rows, features=False)

    @cached_property
    def _featured(self) -> Outputs:
        return self._pass(self._rows, features=True)

    @cached_property
    def _labelled(self) -> Outputs:
        return self._pass(self._pool.order, features=True)

    def _pass(self, rows: Ints, features: bool) -> Outputs:
        model = self._model
        progress = partial(model.observer.texts_done, "scoring")
        return self._timed(lambda: model.predict(rows, self._pool, features, progress))

    def _timed(self, work: Callable[[], Result]) -> Result:
        with self._watch("score"):
            return work()


def present(values: Floats | None) -> Floats:
    """Features that were requested, and so are present."""
    assert values is not None
    return values
