"""How well labels can be predicted from the features of a frozen encoder: the losses by which encoders are compared."""

from __future__ import annotations

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.objective import Objective
from hybridal.models.training.probe import MULTI_LABEL_PENALTIES, PENALTIES, LabelledFeatures, cross_fitted

FOLDS = 5


def held_out_losses(
    features: Floats,
    labels: Ints,
    objective: Objective,
    rng: np.random.Generator,
    description_features: LabelledFeatures | None = None,
) -> Floats:
    """Return the loss of each labelled text under a probe that has not seen it, in nats.

    Args:
        features: Features of the labelled texts from the frozen encoder.
        labels: Their labels.
        objective: What a label means.
        rng: Divides the texts into folds; give each encoder an equal one, so that losses can be compared text by text.
        description_features: Features of the class descriptions, which are examples in every fold.

    Returns:
        The losses with the penalty that makes their mean lowest.

    Example:
        >>> from hybridal.measures.objective import SingleLabel
        >>> labels = np.arange(20) % 2
        >>> telling, noise = labels[:, None] * 2.0, np.random.default_rng(1).normal(size=(20, 1))
        >>> losses = [held_out_losses(x, labels, SingleLabel(2), np.random.default_rng(0)) for x in (telling, noise)]
        >>> bool(losses[0].mean() < losses[1].mean())
        True
    """
    centre, scale = features.mean(axis=0, dtype=np.float64), _scale(features)
    described = None
    if description_features is not None:
        described = (description_features[0] - centre) / scale, description_features[1]
    penalties = MULTI_LABEL_PENALTIES if objective.multi_label else PENALTIES
    logits = cross_fitted((features - centre) / scale, labels, objective, rng, FOLDS, penalties, described)
    return min((objective.text_losses(some, labels) for some in logits), key=np.mean)


def _scale(features: Floats) -> float:
    """The standard deviation of all features. Some encoders have features in a narrow cone: penalties would differ."""
    return float(np.sqrt(features.var(axis=0, dtype=np.float64).mean())) or 1.0
