from __future__ import annotations

from hybridal.signals.gradient_norm import GradientNorm
from hybridal.testing import FakeModel


def test_gradient_norm_is_a_level() -> None:
    before, now = (GradientNorm().snapshot(FakeModel([[0, 1]], [1], gradient=norm)) for norm in (5.0, 0.25))
    assert GradientNorm().change(before, now) == 0.25
    assert GradientNorm().change(now, now) == 0.25


def test_epsilon_is_on_the_scale_of_a_mean_gradient() -> None:
    assert round(GradientNorm.epsilon, 4) == 2.2806  # 145.9556 / 2 over 32 batches
