"""The loop's model with several candidate encoders, one of which it uses at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hybridal.core.encoder_choice import ONLY, EncoderChoice
from hybridal.core.observer import Observer
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.errors import UserError
from hybridal.measures.choose_encoder import MIN_LABELS, choose, is_due
from hybridal.models.model_protocol import Fit
from hybridal.models.transformer import TransformerModel
from hybridal.models.views import ModelView, ScoredCandidates
from hybridal.system.stopwatch import Stopwatch
from hybridal.updates import Plan, Weights


class EncoderCandidates:
    """A model that starts from the pretrained encoder that suits the labels best; it implements `Model`.

    Each candidate is a `TransformerModel`. It is built when it is first compared or used, and kept, since studies go
    back and forth between runs that chose differently.

    Args:
        names: The candidates. The first one is used until there are enough labels to compare them.
        build: Builds the model of a candidate.
        observer: Receives progress; can be replaced.

    Attributes:
        current: The model of the encoder in use.
    """

    def __init__(
        self, names: Sequence[str], build: Callable[[str, Observer], TransformerModel], observer: Observer
    ) -> None:
        self._names, self._build, self._observer = tuple(names), build, observer
        self._models: dict[str, TransformerModel] = {}
        self._validation_labels: Ints | None = None
        self._watch = Stopwatch()
        self._last: tuple[bytes, EncoderChoice | None, EncoderChoice] | None = None
        self.current = self._model(self._names[0])

    def choose_encoder(self, pool: Pool, now: EncoderChoice | None) -> EncoderChoice:
        """The encoder for the labels to learn from; those held for validation, or given by a model, are not used."""
        pool = pool.by_people()
        if len(self._names) == 1:
            return EncoderChoice(self._names[0], reason=ONLY)
        if not is_due(len(pool), now):
            why = f"fewer than {MIN_LABELS} labels to compare encoders on"
            return EncoderChoice(self._names[0], reason=why) if now is None else replace(now, changed=False)
        known = pool.order.tobytes() + pool.labels[pool.order].tobytes()
        if self._last is None or self._last[:2] != (known, now):  # a study asks more than once
            with self._watch("encoder"):
                losses = {name: self._model(name).held_out_losses(pool) for name in self._names}
                self._last = known, now, choose(losses, now)
        return self._last[2]

    def comparing_seconds(self) -> float:
        taken = sum(self._watch.seconds.values())
        self._watch.seconds.clear()
        return taken

    def use_encoder(self, choice: EncoderChoice | None) -> None:
        name = self._names[0] if choice is None else choice.backbone
        if name not in self._names:
            raise UserError(
                f"The encoder '{name}' of the last round is not among the candidates; name it in `backbone`.",
                field="backbone",
            )
        self.current = self._model(name)

    def _model(self, name: str) -> TransformerModel:
        if name not in self._models:
            self._models[name] = model = self._build(name, self._observer)
            if self._validation_labels is not None:
                model.relabel_validation(self._validation_labels)
        return self._models[name]

    @property
    def observer(self) -> Observer:
        return self._observer

    @observer.setter
    def observer(self, observer: Observer) -> None:
        self._observer = observer
        for model in self._models.values():
            model.observer = observer

    def relabel_validation(self, labels: Ints) -> None:
        self._validation_labels = labels.copy()
        for model in self._models.values():
            model.relabel_validation(labels)

    @property
    def pretrained(self) -> Weights:
        return self.current.pretrained

    def pretrained_features(self, rows: Ints) -> Floats:
        return self.current.pretrained_features(rows)

    def class_features(self) -> Floats | None:
        return self.current.class_features()

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:
        return self.current.start(pool, weights)

    def load(self, weights: Weights) -> None:
        self.current.load(weights)

    def to_device(self, weights: Weights | None) -> Weights | None:
        return self.current.to_device(weights)

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit:
        return self.current.fit(plan, pool, round)

    @property
    def validation_labels(self) -> Ints:
        return self.current.validation_labels

    def view(self, validation: Outputs | None, pool: Pool) -> ModelView:
        return self.current.view(validation, pool)

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> ScoredCandidates:
        return self.current.candidates(rows, pool, round, temperature)

    def cross_fitted(self, pool: Pool) -> tuple[Floats, Ints] | None:
        return self.current.cross_fitted(pool)

    def test(self) -> tuple[Outputs, Ints] | None:
        return self.current.test()
