from __future__ import annotations

import numpy as np
import pytest

from hybridal.errors import UserError
from hybridal.signals import measured_change
from hybridal.signals.gradient_norm import GradientNorm


@pytest.mark.parametrize("level", [np.nan, np.inf])
def test_non_finite_change_names_the_signal(level: float) -> None:
    with pytest.raises(UserError, match="'gradient-norm' changed by"):
        measured_change(GradientNorm(), {"norm": np.array(1.0)}, {"norm": np.array(level)})


def test_a_finite_change_passes() -> None:
    change = measured_change(GradientNorm(), {"norm": np.array(1.0)}, {"norm": np.array(0.5)})
    assert (change, type(change)) == (0.5, float)
