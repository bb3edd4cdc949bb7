"""Which labels a change of a class touches: by the class, by the model's predictions, and by similarity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Consensus, LabelSet, Prediction, Text
from hybridal.app.vectors import StoredVectors
from hybridal.core.outputs import Floats

Reason = Literal["class", "model", "similar"]
REASONS: tuple[Reason, ...] = ("class", "model", "similar")

_ROWS_PER_CHUNK = 1024
_TINY = 1e-12
_UNKNOWN = 0.5  # the doubt about a label without a prediction


def touched_labels(session: Session, number: int, embeddings: StoredVectors | None) -> dict[Reason, list[int]]:
    """Find the labels that a new meaning of a class may change.

    Args:
        session: A session of the project.
        number: The number of the class.
        embeddings: The embeddings of the texts; None if there are none yet.

    Returns:
        The rows of labelled texts by the first reason that applies: texts of the class, the most doubtful first; texts
        of other classes that the model predicts to be of it, the most probable first; and texts of other classes that
        are nearer to the mean of this class than to that of their own, the nearest first. If a text may have several
        classes, all texts without the class count as one other class.
    """
    labels = _labels(session, number)
    mine = [row for row, label in labels.items() if label == number]
    others = [row for row, label in labels.items() if label != number]
    predicted = _predictions(session, number)
    doubt = {row: _doubt(predicted.get(row)) for row in mine}
    by_model = sorted((row for row in others if predicted.get(row, (False, 0.0))[0]), key=lambda r: -predicted[r][1])
    rest = {row: labels[row] for row in others if row not in {*by_model}}
    return {
        "class": sorted(mine, key=lambda row: -doubt[row]),
        "model": by_model,
        "similar": [] if embeddings is None else nearer(embeddings, labels, number, rest),
    }


_OTHER = -1  # stands for all sets without the class


def _labels(session: Session, number: int) -> dict[int, int]:
    """The class of each labelled text, in random order; texts for which this class is not decided are left out."""
    found = select(Consensus.text_row, Consensus.class_number, LabelSet.classes)
    found = found.join(Text, Text.row == Consensus.text_row).where(Text.deleted.is_(None))
    found = found.outerjoin(LabelSet, LabelSet.number == Consensus.label_set).order_by(Text.random_order)
    of_set = {True: number, False: _OTHER, None: None}
    labels = {
        row: label if several is None else of_set[several.decision(number)]
        for row, label, several in session.execute(found)
    }
    return {row: label for row, label in labels.items() if label is not None}


def _predictions(session: Session, number: int) -> dict[int, tuple[bool, float]]:
    """Whether the model predicts the class for labelled texts, and the probability of what it predicts."""
    found = select(Prediction.text_row, Prediction.class_number, Prediction.probability, LabelSet.classes)
    found = found.join(Consensus, Consensus.text_row == Prediction.text_row)
    found = found.outerjoin(LabelSet, LabelSet.number == Prediction.label_set)
    return {
        row: (likeliest == number if several is None else number in several.present, probability)
        for row, likeliest, probability, several in session.execute(found)
    }


def _doubt(predicted: tuple[bool, float] | None) -> float:
    """How doubtful it is that a text is of its class, given whether the model predicts the class, and how surely."""
    if predicted is None:
        return _UNKNOWN
    is_same, probability = predicted
    return 1 - probability if is_same else 1 + probability


def nearer(embeddings: StoredVectors, labels: Mapping[int, int], number: int, asked: Collection[int]) -> list[int]:
    """Select texts that are nearer to the mean of a class than to the mean of their own.

    Args:
        embeddings: The embeddings of all texts; texts without one are ignored.
        labels: The class of each labelled text by its row.
        number: The class.
        asked: The rows to choose from.

    Returns:
        The chosen rows, those first that are much nearer.
    """
    there = {int(row) for row in np.flatnonzero(embeddings.stamps)}
    rows: dict[int, list[int]] = {}
    for row, label in labels.items():
        if row in there:
            rows.setdefault(label, []).append(row)
    means = {label: _mean_direction(embeddings, some) for label, some in rows.items()}
    gain: dict[int, float] = {}
    for label, some in rows.items():
        wanted = [row for row in some if row in asked]
        if label == number or number not in means:
            continue
        for part in _chunks(wanted):
            found = _directions(embeddings, part) @ (means[number] - means[label])
            gain |= zip(part, found.tolist(), strict=True)
    return sorted((row for row in gain if gain[row] > 0), key=lambda row: (-gain[row], row))


def _mean_direction(embeddings: StoredVectors, rows: Sequence[int]) -> Floats:
    total: Floats = np.sum([_directions(embeddings, part).sum(axis=0) for part in _chunks(rows)], axis=0)
    return total / max(float(np.linalg.norm(total)), _TINY)


def _directions(embeddings: StoredVectors, rows: Sequence[int]) -> NDArray[np.float64]:
    vectors = embeddings.values[rows].astype(np.float64)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY))


def _chunks(rows: Sequence[int]) -> list[Sequence[int]]:
    return [rows[start : start + _ROWS_PER_CHUNK] for start in range(0, len(rows), _ROWS_PER_CHUNK)]


def chosen_rows(found: Mapping[Reason, Sequence[int]], reasons: Collection[Reason]) -> dict[int, str]:
    """The reason for each row to queue, in the order of the reasons.

    >>> chosen_rows({"class": [3, 1], "model": [2], "similar": []}, ["class", "model"])
    {3: 'class', 1: 'class', 2: 'model'}
    """
    return {row: reason for reason in REASONS if reason in reasons for row in found[reason]}
