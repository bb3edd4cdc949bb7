from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.updates import UPDATES
from hybridal.updates.replay import Replay

from .conftest import Situate


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(older=st.integers(0, 5), seed=st.integers(0, 99), first=st.booleans())
def test_all_new_labels_and_some_older_ones(situate: Situate, older: int, seed: int, first: bool) -> None:
    now = situate(first=first, seed=seed)
    plan = Replay(older).plan(now)
    rows = plan.rows.tolist()
    new = [4, 1, 0, 5, 2] if first else [0, 5, 2]
    drawn = rows[: len(rows) - len(new)]
    assert rows[len(drawn) :] == new
    assert len(drawn) == len(set(drawn)) == (0 if first else min(older, 2))
    assert set(drawn) <= {4, 1}
    assert plan.weights is (now.start() if first else now.last)
    assert (plan.batch, plan.moments, plan.keeps_moments) == (None, None, False)


def test_the_draw_is_the_situation_s_and_no_other(situate: Situate) -> None:
    drawn = [Replay(1).plan(situate(seed=seed)).rows[0] for seed in [*range(20), *range(20)]]
    assert drawn[:20] == drawn[20:]
    assert set(drawn) == {4, 1}


@pytest.mark.parametrize(("dropout", "expected"), [("on", True), ("off", False), ("finetune", False)])
def test_dropout_is_off_where_only_fine_tuning_has_it(situate: Situate, dropout: str, expected: bool) -> None:
    assert Replay().plan(situate(dropout=dropout)).dropout is expected


@pytest.mark.parametrize("older", ["-1", "2.5", "1e2", "some", "nan"])
def test_what_is_no_number_of_labels_is_refused(older: str) -> None:
    with pytest.raises(UserError, match=f"'replay:{older}' is not a valid spec"):
        UPDATES.make(f"replay:{older}")
