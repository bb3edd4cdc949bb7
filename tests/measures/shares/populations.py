"""Simulated texts with predictions of which the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.core.provenance import RandomDraw
from hybridal.measures.shares.labelled_texts import LabelledTexts


def population(size: int, share: float, strength: float, seed: int) -> tuple[Floats, Floats]:
    """Labels and over-confident probabilities of one class; a strength of 0 tells nothing."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < share).astype(float)
    score = strength * (labels - 0.5) + rng.normal(size=size)
    return labels, 1 / (1 + np.exp(-1.5 * strength * score - np.log(share / (1 - share))))


NO_ROWS: Ints = np.empty(0, dtype=np.int64)


def labelled(labels: Floats, predicted: Floats, drawn: Ints, chosen: Ints = NO_ROWS) -> LabelledTexts:
    """Texts of which some were labelled because a model chose them, and then others were drawn at random."""
    targets = np.full((len(labels), 1), np.nan)
    frame = np.ones(len(labels), dtype=bool)
    frame[chosen] = False
    for rows in (drawn, chosen):
        targets[rows, 0] = labels[rows]
    return LabelledTexts(targets, predicted[:, None] > 0.5, predicted[None, :, None], [RandomDraw(frame, drawn)])


def with_other_class(texts: LabelledTexts) -> LabelledTexts:
    """The same texts with a second class, which is the opposite of the first."""
    return replace(
        texts,
        targets=np.concatenate([texts.targets, 1 - texts.targets], axis=1),
        answers=np.concatenate([texts.answers, ~texts.answers], axis=1),
        predicted=np.concatenate([texts.predicted, 1 - texts.predicted], axis=2),
    )
