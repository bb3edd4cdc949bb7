"""A model and candidates made of given arrays, to try components without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.measures.objective import objective_of
from hybridal.signals import Sample

if TYPE_CHECKING:
    import torch


def _floats(values: ArrayLike) -> Floats:
    return np.array(values, dtype=np.float32)


class FakeModel:
    """A `ModelView` over given arrays; reading an array that was not given fails.

    >>> model = FakeModel(logits=[[0.0, 1.0]], labels=[1], weights={"head": [[1.0, 2.0]]})
    >>> model.validation.logits.tolist(), list(model.matrices())
    ([[0.0, 1.0]], ['head'])
    """

    def __init__(
        self,
        logits: ArrayLike,
        labels: ArrayLike,
        hidden: ArrayLike | None = None,
        weights: Mapping[str, ArrayLike] | None = None,
        gradient: float = 1.0,
        labelled: tuple[Outputs, Ints] | None = None,
        unlabelled: Sample | None = None,
        label_sets: LabelSets | None = None,
    ) -> None:
        self.validation = Outputs(_floats(logits), None if hidden is None else _floats(hidden))
        self.validation_labels: Ints = np.array(labels, dtype=np.int64)
        self.objective = objective_of(self.validation.logits.shape[1], label_sets)
        self._weights = {name: _floats(values) for name, values in (weights or {}).items()}
        self._parameters: dict[str, torch.Tensor] = {}
        self._gradient = gradient
        self._labelled = labelled
        self._unlabelled = unlabelled

    @classmethod
    def random(cls, seed: int, texts: int = 60, classes: int = 3, width: int = 8, features: bool = True) -> FakeModel:
        """Return a model with random outputs and weights; without features, validation has no hidden states."""
        rng = np.random.default_rng(seed)
        labelled = Outputs(rng.normal(size=(40, classes)), rng.normal(size=(40, width)).astype(np.float32))
        rows_of_probe = rng.normal(size=(texts, classes))
        return cls(
            rng.normal(size=(texts, classes)),
            np.arange(texts) % classes,
            rng.normal(size=(texts, width)) if features else None,
            {
                "embeddings.word": rng.normal(size=(20, width)),
                "layer.in": rng.normal(size=(2 * width, width)),
                "layer.out": rng.normal(size=(width, 2 * width)),
                "layer.bias": rng.normal(size=width),
                "head": rng.normal(size=(classes, width)),
            },
            float(rng.random()),
            (labelled, np.arange(40, dtype=np.int64) % classes),
            Sample(np.arange(texts), rng.normal(size=(texts, classes)), lambda: rows_of_probe),
        )

    def weights(self) -> Mapping[str, torch.Tensor]:
        """Parameters that want gradients, as a model's do."""
        import torch

        if not self._parameters:
            self._parameters = {name: torch.nn.Parameter(torch.tensor(v)) for name, v in self._weights.items()}
        return self._parameters

    def matrices(self) -> Mapping[str, torch.Tensor]:
        return {n: p for n, p in self.weights().items() if p.ndim == 2 and not n.startswith("embeddings")}

    def gradient_norm(self) -> float:
        return self._gradient

    def labelled(self) -> tuple[Outputs, Ints]:
        if self._labelled is None:
            raise AssertionError("this signal asked for the labelled pool")
        return self._labelled

    def unlabelled(self) -> Sample:
        if self._unlabelled is None:
            raise AssertionError("this signal asked for unlabelled texts")
        return self._unlabelled

    def arrays(self) -> list[NDArray[np.generic]]:
        """Everything that a signal can see, as the very memory of the model."""
        passes = [self.validation] if self._labelled is None else [self.validation, self._labelled[0]]
        seen: list[NDArray[np.generic]] = [array for p in passes for array in (p.logits, p.hidden) if array is not None]
        seen.append(self.validation_labels)
        if self._unlabelled is not None:
            seen += [self._unlabelled.rows, self._unlabelled.logits, self._unlabelled.probe()]
        return seen + [parameter.detach().numpy() for parameter in self.weights().values()]


class FakeCandidates:
    """`Candidates` over given arrays; what was not given is empty.

    >>> few = FakeCandidates(["a", "b"], [[0.9, 0.1], [0.5, 0.5]])
    >>> few.probabilities().shape, few.permuted([1, 0]).ids
    ((2, 2), ['b', 'a'])
    """

    def __init__(
        self,
        ids: Sequence[str],
        probabilities: ArrayLike,
        embeddings: ArrayLike | None = None,
        sampled: ArrayLike | None = None,
        labelled_probabilities: ArrayLike | None = None,
        labelled_embeddings: ArrayLike | None = None,
        thresholds: Sequence[float] = (),
    ) -> None:
        self._thresholds = tuple(thresholds)
        self.ids: list[str] = list(ids)
        self._probabilities = _floats(probabilities)
        self._embeddings = _floats(np.zeros((len(self.ids), 1)) if embeddings is None else embeddings)
        self._sampled = _floats(self._probabilities[None] if sampled is None else sampled)
        none = (0, self._probabilities.shape[1]), (0, self._embeddings.shape[1])
        self._labelled_probabilities = _floats(
            np.empty(none[0]) if labelled_probabilities is None else labelled_probabilities
        )
        self._labelled_embeddings = _floats(np.empty(none[1]) if labelled_embeddings is None else labelled_embeddings)

    @classmethod
    def random(
        cls,
        seed: int,
        count: int = 200,
        classes: int = 4,
        width: int = 8,
        labelled: int = 30,
        ties: bool = False,
        multi_label: bool = False,
    ) -> FakeCandidates:
        """Random candidates whose ids are in no order; with ties, only five of them differ in more than the id."""
        rng = np.random.default_rng(seed)
        rows = rng.integers(5, size=count) if ties else np.arange(count)
        drawn = 5 if ties else count
        return cls(
            [f"text-{i}" for i in rng.permutation(count)],
            rng.dirichlet(np.ones(classes), size=drawn)[rows],
            rng.normal(size=(drawn, width))[rows],
            np.stack([rng.dirichlet(np.ones(classes), size=drawn)[rows] for _ in range(10)]),
            rng.dirichlet(np.ones(classes), size=labelled),
            rng.normal(size=(labelled, width)),
            (1 / classes,) * classes if multi_label else (),
        )

    def permuted(self, order: Sequence[int] | NDArray[np.int64]) -> FakeCandidates:
        """The same candidates in another order."""
        rows = np.asarray(order)
        return FakeCandidates(
            [self.ids[i] for i in rows],
            self._probabilities[rows],
            self._embeddings[rows],
            self._sampled[:, rows],
            self._labelled_probabilities,
            self._labelled_embeddings,
            self._thresholds,
        )

    def thresholds(self) -> Sequence[float]:
        return self._thresholds

    def probabilities(self) -> Floats:
        return self._probabilities

    def embeddings(self) -> Floats:
        return self._embeddings

    def sampled_probabilities(self, passes: int) -> Floats:
        """The given passes, over and over where more are asked for."""
        return self._sampled[np.arange(passes) % len(self._sampled)]

    def labelled_probabilities(self) -> Floats:
        return self._labelled_probabilities

    def labelled_embeddings(self) -> Floats:
        return self._labelled_embeddings

    def arrays(self) -> list[Floats]:
        """Everything that an acquisition can see."""
        return [
            self._probabilities,
            self._embeddings,
            self._sampled,
            self._labelled_probabilities,
            self._labelled_embeddings,
        ]
