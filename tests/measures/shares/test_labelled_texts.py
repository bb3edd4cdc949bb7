from __future__ import annotations

import numpy as np

from hybridal.core.provenance import RandomDraw
from hybridal.measures.shares.labelled_texts import LabelledTexts


def test_each_label_is_compared_with_the_model_of_its_fold() -> None:
    predicted = np.arange(6, dtype=float).reshape(2, 3, 1)
    targets = np.zeros((3, 1))
    draws = [RandomDraw(np.ones(3, dtype=bool), np.array([2, 0]))]
    texts = LabelledTexts(targets, predicted[0] > 1, predicted, draws, np.array([0, 0, 1]))
    assert texts.random_rows.tolist() == [2, 0]
    assert texts.predicted_of(texts.random_rows)[:, 0].tolist() == [5.0, 0.0]
