from __future__ import annotations

import numpy as np
import pytest

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError
from hybridal.measures.objective import SingleLabel
from hybridal.signals.nc import Nc, within_class_spread
from hybridal.testing import FakeModel


def brute(features: Floats | None, labels: Ints) -> float:
    assert features is not None
    per_class = []
    for c in sorted(set(labels.tolist())):
        own = [features[i].astype(float) for i in range(len(labels)) if labels[i] == c]
        if len(own) >= 2:
            centre = sum(own) / len(own)
            per_class.append(sum(float((f - centre) @ (f - centre)) for f in own) / len(own))
    return sum(per_class) / len(per_class)


def test_nc_is_the_spread_on_validation() -> None:
    model = FakeModel.random(1)
    spread = float(Nc().snapshot(model)["spread"])
    assert spread == pytest.approx(brute(model.validation.hidden, model.validation_labels))


def test_classes_weigh_the_same_and_lone_texts_nothing() -> None:
    rng = np.random.default_rng(2)
    features, labels = rng.normal(size=(30, 4)), np.array([0] * 20 + [1] * 9 + [2])
    assert within_class_spread(features, SingleLabel(3).targets(labels)) == pytest.approx(brute(features, labels))


def test_only_lone_texts_are_refused() -> None:
    with pytest.raises(UserError, match="class with two texts"):
        within_class_spread(np.zeros((2, 2)), SingleLabel(2).targets(np.array([0, 1])))
