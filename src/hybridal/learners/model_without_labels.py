"""A classifier for a file of texts whose classes are known by names and descriptions alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridal.core.observer import Observer
from hybridal.errors import UserError
from hybridal.learners.active_learner import ActiveLearner
from hybridal.learners.text_classifier import TextClassifier
from hybridal.tasks import Task


def model_without_labels(
    texts: Sequence[str],
    classes: Sequence[str],
    descriptions: Mapping[Any, Any],
    backbone: str = "auto",
    multi_label: bool = False,
    device: str = "auto",
    observer: Observer | None = None,
) -> TextClassifier:
    """Return the model of an `ActiveLearner` before its first label.

    Args:
        texts: A random sample of the texts to predict; some hundred are enough.
        classes: Names of the classes.
        descriptions: Descriptions and examples by class name.
        backbone: Name, folder or hub id of the pretrained encoder; "auto" takes the first default candidate that is
            available.
        multi_label: Whether a text may have several classes.
        device: "auto", "cpu", "cuda", "cuda:N" or "mps".
        observer: Receives messages; by default there are none.

    Returns:
        The model; its `labels_learnt` is 0.

    Raises:
        UserError: If a class has neither a description nor a meaningful name.

    Example:
        >>> model = model_without_labels(["The soup is cold.", "A late goal."], ["food", "sport"], {}, "tiny")
        >>> model.predict(["The coach left."])[0] in model.classes, model.labels_learnt
        (True, 0)
    """
    task = Task.from_texts(texts, classes=classes, multi_label=multi_label or None, validation_size=0, test_size=0)
    learner = ActiveLearner(
        task.with_descriptions(descriptions), backbone, device=device, observer=observer or Observer()
    )
    if not learner.transformer.has_class_descriptions:
        raise UserError(
            f"Names such as '{task.classes[0]:.40}' do not tell what their classes are; give `descriptions` of all."
        )
    return learner.model
