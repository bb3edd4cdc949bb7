from __future__ import annotations

import pytest

from hybridal.measures.objective import SingleLabel
from hybridal.signals.nc import Nc, within_class_spread
from hybridal.signals.nc_labelled import NcLabelled
from hybridal.testing import FakeModel


def test_nc_labelled_measures_the_labelled_pool() -> None:
    model = FakeModel.random(1)
    outputs, labels = model.labelled()
    assert outputs.hidden is not None
    spread = float(NcLabelled().snapshot(model)["spread"])
    assert spread == pytest.approx(within_class_spread(outputs.hidden, SingleLabel(3).targets(labels)))
    assert spread != pytest.approx(float(Nc().snapshot(model)["spread"]))
