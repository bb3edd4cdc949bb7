from __future__ import annotations

import pytest

from hybridal.updates.retrain import Retrain

from .conftest import Situate


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("rules", ["paper", "reference"])
def test_retrain_starts_from_pretrained_weights_on_all_labels(situate: Situate, rules: str, first: bool) -> None:
    now = situate(rules, first)
    plan = Retrain().plan(now)
    assert plan.weights is now.start()
    assert plan.rows.tolist() == [4, 1, 0, 5, 2]
    assert (plan.batch, plan.moments, plan.keeps_moments) == (None, None, False)


@pytest.mark.parametrize(("dropout", "expected"), [("on", True), ("off", False), ("finetune", False)])
def test_dropout_is_off_where_only_fine_tuning_has_it(situate: Situate, dropout: str, expected: bool) -> None:
    assert Retrain().plan(situate(dropout=dropout)).dropout is expected
