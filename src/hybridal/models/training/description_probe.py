"""A probe without any label: each class points from the mean of all descriptions towards its own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.measures.objective import Objective
from hybridal.models.training.class_descriptions import class_centroids
from hybridal.models.training.probe import MIN_LABELS, LabelledFeatures, Probe

# Standard deviation of the logits over the pool: per nat of chance with one label per text, since the best of many
# classes lies further out, and constant for independent decisions. Chosen for the NLL of six tasks, rather too small
# than too large (docs/decisions/013).
SPREAD_PER_NAT, MULTI_LABEL_SPREAD = 0.4, 0.75
# The model without labels counts as much as this many labels (docs/decisions/017).
PRIOR_LABELS = 10
ROUNDING = 1e-9  # shorter directions are rounding errors


def description_probe(pool: Floats, descriptions: LabelledFeatures, objective: Objective) -> Probe | None:
    """Return a linear layer that knows the classes by their descriptions alone.

    Names and texts lie in different parts of the feature space, so that the name nearest to all texts would get most of
    them. Texts are therefore compared relative to the mean of the pool. Descriptions are written like texts; with k of
    them per class, the mean of the pool counts 1/k, and their own mean the rest.

    Args:
        pool: Features of a sample of unlabelled texts.
        descriptions: Features of class names and descriptions, and the class of each.
        objective: Whether a text has one or several classes.

    Returns:
        The probe, with conservative probabilities; None if a class has no description, or there are no texts.

    Example:
        >>> from hybridal.measures.objective import SingleLabel
        >>> texts, names = np.array([[4.0, 1.0], [6.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
        >>> probe = description_probe(texts, (names, np.array([0, 1])), SingleLabel(2))
        >>> probe.logits(texts).argmax(axis=1).tolist()
        [0, 1]
    """
    found, of = descriptions
    centroids = class_centroids(found, of, objective.classes)
    if centroids is None or not len(pool):
        return None
    centroids, texts, classes = centroids.astype(np.float64), pool.mean(axis=0, dtype=np.float64), objective.classes
    middle = centroids.mean(axis=0)
    weight, share = _unit(centroids - middle), classes / len(of)
    if objective.multi_label:
        spread, bias = MULTI_LABEL_SPREAD, -math.log(classes)  # about one class per text
    else:
        spread, bias = SPREAD_PER_NAT * math.log(classes), 0.0
        weight -= weight.mean(axis=0)  # what all classes have in common does not change their probabilities
    now = float(((pool - texts) @ weight.T).std())
    weight *= spread / now if now > ROUNDING else 0.0
    return Probe(weight, bias - weight @ (share * texts + (1 - share) * middle))


def shrunk(
    probe: Probe,
    known: LabelledFeatures,
    objective: Objective,
    descriptions: LabelledFeatures | None,
    weights: Floats | None = None,
) -> Probe:
    """Shrink the probe of a few labels towards the model that descriptions give without any label.

    Few labels distort the frequencies and directions of classes, so that the probe alone may be worse than no label.
    The logits of both are averaged; the model without labels counts as `PRIOR_LABELS`, and is left out if the labels,
    which it has not seen, are no more probable under it than by chance. Its centre is that of the labelled texts, so
    there must be `MIN_LABELS` of them.

    Args:
        probe: The probe of these labels.
        known: Features of the labelled texts, and their labels.
        objective: Whether a text has one or several classes; with several, the probe is returned as it is.
        descriptions: Features of class names and descriptions, and the class of each.
        weights: How much each label counts, a column or a column per class; None if all count 1.

    Returns:
        The shrunken probe, or the given one.

    Example:
        >>> from hybridal.measures.objective import SingleLabel
        >>> from hybridal.models.training.probe import fit_probe
        >>> texts, labels = np.tile([[4.0, 1.0], [6.0, 1.0]], (5, 1)), np.array([0, 1] * 5)
        >>> names = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
        >>> alone = fit_probe(texts, labels, SingleLabel(2), descriptions=names)
        >>> found = shrunk(alone, (texts, labels), SingleLabel(2), names)
        >>> without = description_probe(texts, names, SingleLabel(2))
        >>> bool(np.allclose(found.weight, (alone.weight + without.weight) / 2))
        True
    """
    features, labels = known
    if objective.multi_label or descriptions is None or not probe.uses_descriptions or len(labels) < MIN_LABELS:
        return probe
    prior = description_probe(features, descriptions, objective)
    if prior is None:
        return probe
    counts = np.ones(len(labels)) if weights is None else weights.mean(axis=1)
    gains = math.log(objective.classes) - objective.text_losses(prior.logits(features), labels)
    if counts @ gains <= 0:
        return probe
    share = len(labels) / (len(labels) + PRIOR_LABELS)
    return replace(
        probe,
        weight=share * probe.weight + (1 - share) * prior.weight,
        bias=share * probe.bias + (1 - share) * prior.bias,
    )


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > ROUNDING, rows / np.maximum(lengths, ROUNDING), 0.0)
