from __future__ import annotations

import math

import numpy as np
import pytest

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.signals import measured_change
from hybridal.signals.cka import Cka, linear_cka
from hybridal.testing import FakeModel


def hsic_cka(x: Floats, y: Floats) -> float:
    """The definition: HSIC of the (N, N) linear kernels, normalised."""
    n = len(x)
    h = np.eye(n) - 1 / n
    k, m = x @ x.T, y @ y.T

    def hsic(a: Floats, b: Floats) -> float:
        return float(np.trace(a @ h @ b @ h) / (n - 1) ** 2)

    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize(("n", "width"), [(40, 6), (6, 40)])
def test_cka_equals_the_hsic_form(n: int, width: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, width)) + 5.0
    y = x @ rng.normal(size=(width, width)) + rng.normal(size=(n, width))
    assert linear_cka(x, y) == pytest.approx(hsic_cka(x, y), rel=1e-10)


def test_turned_and_scaled_features_have_not_changed() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 8))
    turn, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    assert Cka().change({"hidden": x}, {"hidden": 7 * x @ turn + 3}) == pytest.approx(0, abs=1e-12)
    assert Cka().change({"hidden": x}, {"hidden": x}) >= 0


def test_snapshot_is_the_hidden_state() -> None:
    model = FakeModel.random(3)
    assert model.validation.hidden is not None
    np.testing.assert_array_equal(Cka().snapshot(model)["hidden"], model.validation.hidden)


def test_features_without_spread_name_the_signal() -> None:
    flat = {"hidden": np.ones((4, 2))}
    with pytest.raises(UserError, match="'cka'"):
        measured_change(Cka(), flat, flat)


def test_other_texts_are_refused() -> None:
    with pytest.raises(UserError, match="same validation texts"):
        Cka().change({"hidden": np.ones((4, 2))}, {"hidden": np.ones((3, 2))})


def test_a_pass_without_features_is_refused() -> None:
    with pytest.raises(ValueError, match="'cka' needs features"):
        Cka().snapshot(FakeModel.random(1, features=False))
