"""The probe of a learner, available without a round of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.acquisition import select
from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.core.pool import Pool
from hybridal.errors import UserError
from hybridal.loop.first_draw import first_draw
from hybridal.measures.model_errors import pool_weights
from hybridal.measures.objective import Objective, objective_of
from hybridal.models.training.class_descriptions import class_centroids
from hybridal.models.training.description_probe import description_probe, shrunk
from hybridal.models.training.probe import Probe, ProbeFitter
from hybridal.randomness import stream
from hybridal.tasks.answers import Answer, Decisions, number_of_answer
from hybridal.tasks.label_values import label_text

if TYPE_CHECKING:
    from hybridal.learners.active_learner import ActiveLearner

DROPOUT = 0.1  # of the features, for acquisitions that sample: the share that encoders drop before their last layer


class ProbeModel:
    """A logistic regression on frozen features, for the first labels of a learner.

    Protocols with `probe_until` use a probe in place of a trained transformer while there are few labels. A round of
    the learner also validates, measures signals and scores all candidates. This class gives the same probe without a
    round: features are computed in advance, a few texts at a time, and fitting and ranking then take a fraction of a
    second. Features and the penalty come from the learner's own model, so its round computes them only once.

    Args:
        learner: Provides the texts, the pretrained encoder, the rules and the acquisition. It is not changed.

    Attributes:
        max_labels: The probe is the model with fewer labels than this; 0 if the protocol has no probe.

    Example:
        >>> from hybridal.learners.active_learner import ActiveLearner
        >>> from hybridal.testing.small import toy_task
        >>> learner = ActiveLearner(toy_task(), backbone="tiny", protocol="best", device="cpu")
        >>> probe = ProbeModel(learner)
        >>> probe.compute_features(["train-0", "train-1", "train-2", "train-3"])
        >>> probe.fit({"train-0": "sport", "train-1": "food"})
        >>> len(probe.query(1)), probe.predict_proba(["train-2", "train-3"]).shape
        (1, (2, 2))
    """

    def __init__(self, learner: ActiveLearner) -> None:
        self._task, self._model = learner.experiment.task, learner.transformer
        self._rules, self._acquisition = learner.experiment.rules, learner.experiment.acquisition
        self.max_labels = self._rules.probe_until if self._rules.head == "probe" else 0
        self._train_rows = {id: row for row, id in enumerate(self._task.train.ids)}
        self._validation_texts = dict(zip(self._task.validation.ids, self._task.validation.texts, strict=True))
        self._features: dict[str, Floats] = {}
        self._description_features: dict[str, Floats] = {}
        self._learner = learner
        self._prober = ProbeFitter(self._model.seed, self._probe_fitted)
        self._fitted: _Fitted | None = None

    @property
    def ids(self) -> list[Any]:
        """The texts whose features are known, in the order in which they were computed."""
        return [self._task.id(id) for id in self._features]

    def missing(self, ids: Iterable[Any]) -> list[Any]:
        """Select the texts whose features are not computed yet; ids that are not in the task are left out.

        Args:
            ids: Ids of texts.

        Returns:
            The ids to pass to `compute_features`, in the same order.
        """
        return [id for id in ids if (name := label_text(id)) not in self._features and self._is_known(name)]

    def compute_features(self, ids: Iterable[Any]) -> None:
        """Compute the features of some texts with the pretrained encoder.

        Args:
            ids: Ids of texts to learn from or of validation texts.

        Raises:
            UserError: If an id is not in the task.
        """
        names = [label_text(id) for id in ids]
        if unknown := [id for id in names if not self._is_known(id)]:
            raise UserError(f"'{unknown[0]:.40}' is not the id of a text of task '{self._task.name}'.")
        train = [id for id in names if id in self._train_rows]
        validation = [id for id in names if id in self._validation_texts]
        if train:  # the learner's model keeps them, so that its own probe does not compute them again
            rows = np.array([self._train_rows[id] for id in train])
            self._features |= zip(train, self._model.features.of(rows), strict=True)
        if validation:
            texts = [self._validation_texts[id] for id in validation]
            self._features |= zip(validation, self._model.embed(texts), strict=True)

    def compute_description_features(self, limit: int) -> bool:
        """Compute the features of some class names and descriptions of the task.

        Args:
            limit: How many texts to compute at most.

        Returns:
            Whether any were left to compute.
        """
        rows = self._missing_descriptions()[:limit]
        if not len(rows):
            return False
        texts = [self._model.description_texts[row - len(self._train_rows)] for row in rows]
        self._description_features |= zip(texts, self._model.features.of(rows), strict=True)
        return True

    @property
    def has_description_features(self) -> bool:
        """Whether nothing is left for `compute_description_features`."""
        return not len(self._missing_descriptions())

    def first_order(
        self,
        ids: Iterable[Any],
        classes: Sequence[str] | None = None,
        descriptions: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Any]:
        """Order texts for labelling before any label exists: representative texts first, near to each class in turn.

        Args:
            ids: Ids of texts to learn from whose features are known; others are left out.
            classes: Class names; those of the task by default.
            descriptions: Descriptions and examples by class name; those of the task by default.

        Returns:
            The ids in the order in which to label them.
        """
        names = [name for id in ids if (name := label_text(id)) in self._train_rows and name in self._features]
        if not names:
            return []
        classes = self._task.classes if classes is None else classes
        features, of = self._describe(classes, self._task.descriptions if descriptions is None else descriptions)
        centroids = class_centroids(features, of, len(classes)) if len(of) else None
        order = first_draw(self._stack(names), len(names), stream(self._model.seed, "initial"), centroids)
        return [self._task.id(names[place]) for place in order]

    def fit_descriptions(
        self, classes: Sequence[str] | None = None, descriptions: Mapping[str, Sequence[str]] | None = None
    ) -> bool:
        """Fit the probe to class names and descriptions alone, before there are labels.

        Args:
            classes: Class names, in the order of the columns of `predict_proba`; those of the task by default.
            descriptions: Descriptions and examples by class name; those of the task by default.

        Returns:
            Whether each class has one, and the rules use them; else the probe is as before.
        """
        known = [name for name in self._features if name in self._train_rows]
        if not self.max_labels or not self._rules.use_class_descriptions or not known:
            return False
        classes = self._task.classes if classes is None else classes
        objective = objective_of(len(classes), LabelSets(len(classes)) if self._task.multi_label else None)
        described = self._describe(classes, self._task.descriptions if descriptions is None else descriptions)
        probe = description_probe(self._stack(known), described, objective)
        if probe is not None:
            self._fitted = _Fitted(probe, [], 1.0, objective)
        return probe is not None

    def fit(
        self,
        labels: Mapping[Any, Answer | Mapping[str, bool]],
        validation: Mapping[Any, Answer | Mapping[str, bool]] | None = None,
        classes: Sequence[str] | None = None,
        descriptions: Mapping[str, Sequence[str]] | None = None,
        by_model: Mapping[Any, Answer | Mapping[str, bool]] | None = None,
    ) -> None:
        """Fit the probe, and its temperature to the validation labels.

        Args:
            labels: Class names, sets of them, or dicts that decide some of them, by the ids of texts to learn from.
                Texts whose features are unknown are left out.
            validation: Class names, or sets of them, by the ids of texts that are only measured on.
            classes: Class names, in the order of the columns of `predict_proba`; those of the task by default.
            descriptions: Descriptions and examples by class name; those of the task by default.
            by_model: What a model answered, as `labels`. Its answers are labels of texts without one, which count
                according to its errors on the others (`hybridal.measures.model_errors`).
        """
        classes = self._task.classes if classes is None else classes
        sets = LabelSets(len(classes)) if self._task.multi_label else None
        objective = objective_of(len(classes), sets)
        known, guesses = (self._known_labels(some, classes, sets) for some in (labels, by_model or {}))
        ids = [*dict.fromkeys([*known[0], *guesses[0]])]
        rows = {id: row for row, id in enumerate(ids)}
        given, answered = ({rows[id]: int(label) for id, label in zip(*some, strict=True)} for some in (known, guesses))
        pool = Pool.unlabelled(len(ids), sets).reveal(given).reveal_by_model(answered)
        numbers, weights = pool.labels, pool_weights(pool, objective)
        described = None
        if self._rules.use_class_descriptions:
            found = self._describe(classes, self._task.descriptions if descriptions is None else descriptions)
            described = found if len(found[1]) else None
        features = self._stack(ids)
        probe = self._prober.best(features, numbers, objective, described, weights)
        if len(ids) < self.max_labels:  # as in the learner's model
            probe = shrunk(probe, (features, numbers), objective, described, weights)
        held, truth = self._known_labels(validation or {}, classes, sets)
        logits = probe.logits(self._stack(held)) if held else np.empty((0, len(classes)))
        temperature = objective.shrink_temperature(logits, truth, None, trained=False)
        self._fitted = _Fitted(probe, ids, temperature, objective)

    def predict_proba(self, ids: Sequence[Any]) -> Floats:
        """Predict the calibrated class probabilities of texts whose features are known.

        Args:
            ids: Ids of texts.

        Returns:
            (N, C) probabilities, a column for each class that was passed to `fit`.

        Raises:
            UserError: If the probe is not fitted.
        """
        fitted = self._checked()
        logits = fitted.probe.logits(self._stack([*map(label_text, ids)]))
        return fitted.objective.probabilities(logits, fitted.temperature)

    def thresholds(self, ids: Sequence[Any]) -> tuple[float, ...]:
        """Choose the probability from which each class is given; () if a text has exactly one class.

        Args:
            ids: Ids of texts whose features are known, best a random sample.

        Returns:
            A threshold for each class that was passed to `fit`.

        Raises:
            UserError: If the probe is not fitted.
        """
        fitted = self._checked()
        logits = fitted.probe.logits(self._stack([*map(label_text, ids)]))
        return fitted.objective.thresholds(logits, fitted.temperature, self._rules.thresholds)

    def query(self, n: int) -> list[Any]:
        """Choose the texts to label next with the learner's acquisition.

        Args:
            n: How many; all unlabelled texts with known features if there are fewer.

        Returns:
            Ids, best first.

        Raises:
            UserError: If the probe is not fitted, or the acquisition of another package fails.
        """
        fitted = self._checked()
        labelled = {*fitted.labelled}
        ids = [id for id in self._features if id in self._train_rows and id not in labelled]
        if not ids:
            return []
        candidates = _ProbeCandidates(
            ids,
            self._stack(ids),
            self._stack(fitted.labelled),
            fitted.probe,
            fitted.temperature if self._rules.calibrate else 1.0,
            self._model.seed,
            fitted.objective,
            self._rules.thresholds,
        )
        rng = stream(self._model.seed, "probe-acquisition", len(labelled))
        return [self._task.id(id) for id in select(self._acquisition, candidates, n, rng).ids]

    def _probe_fitted(self, fits: int, of: int) -> None:
        self._learner.observer.probe_fitted(fits, of)

    def _checked(self) -> _Fitted:
        if self._fitted is None:
            raise UserError("The probe has not learnt anything yet; call `fit` first.")
        return self._fitted

    def _is_known(self, id: str) -> bool:
        return id in self._train_rows or id in self._validation_texts

    def _stack(self, ids: Sequence[str]) -> Floats:
        return np.stack([self._features[id] for id in ids])

    def _known_labels(
        self, labels: Mapping[Any, Answer | Mapping[str, bool]], classes: Sequence[str], sets: LabelSets | None
    ) -> tuple[list[str], Ints]:
        index = {name: number for number, name in enumerate(classes)}

        def number(answer: Answer | Mapping[str, bool]) -> int:
            if sets is None:
                return index[str(answer)]
            several = Decisions.of(answer) if isinstance(answer, Mapping) else answer
            return number_of_answer(several, index.__getitem__, sets)

        known = {name: number(answer) for id, answer in labels.items() if (name := label_text(id)) in self._features}
        return [*known], np.array([*known.values()], dtype=np.int64)

    def _missing_descriptions(self) -> Ints:
        """Rows of the model's description texts; they follow those of the texts to learn from."""
        if not self.max_labels:
            return self._model.named[:0]
        texts, first = self._model.description_texts, len(self._train_rows)
        missing = [row for row in self._model.named if texts[row - first] not in self._description_features]
        return np.array(missing, dtype=np.int64)

    def _describe(self, classes: Sequence[str], descriptions: Mapping[str, Sequence[str]]) -> tuple[Floats, Ints]:
        """Features of class names and descriptions, and the class of each."""
        texts, of = self._model.class_descriptions(classes, descriptions)
        known = self._description_features
        if missing := [text for text in dict.fromkeys(texts) if text not in known]:
            known |= zip(missing, self._model.embed(missing), strict=True)
        return np.array([known[text] for text in texts]), of


@dataclass(frozen=True)
class _Fitted:
    """A probe, the ids of the texts that it has learnt, and the temperature of its probabilities."""

    probe: Probe
    labelled: Sequence[str]
    temperature: float
    objective: Objective


@dataclass(frozen=True)
class _ProbeCandidates:
    """What an acquisition may read of texts with known features: see `hybridal.acquisition.Candidates`."""

    ids: Sequence[str]
    features: Floats
    labelled_features: Floats
    probe: Probe
    temperature: float
    seed: int
    objective: Objective
    threshold_rule: str

    def probabilities(self) -> Floats:
        return self._predict(self.features)

    def thresholds(self) -> tuple[float, ...]:
        return self.objective.thresholds(self.probe.logits(self.features), self.temperature, self.threshold_rule)

    def embeddings(self) -> Floats:
        return self.features

    def sampled_probabilities(self, passes: int) -> Floats:
        """Dropout on the features: the probe has no other layer, and passes through the encoder would take seconds."""
        rng = stream(self.seed, "sampled", len(self.labelled_features))
        masks = (rng.random(self.features.shape) >= DROPOUT for _ in range(passes))
        return np.stack([self._predict(self.features * mask / (1 - DROPOUT)) for mask in masks])

    def labelled_probabilities(self) -> Floats:
        return self._predict(self.labelled_features)

    def labelled_embeddings(self) -> Floats:
        return self.labelled_features

    def _predict(self, features: Floats) -> Floats:
        return self.objective.probabilities(self.probe.logits(features), self.temperature)
