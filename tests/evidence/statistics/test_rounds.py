import math

import pytest

from hybridal.errors import UserError
from hybridal.evidence.statistics.switching import checked_changes, whole

from .samples import run


def test_a_missing_round_is_named() -> None:
    history = run([None, 0.1, 0.2])
    assert whole(history) is history
    with pytest.raises(UserError, match="Round 2 is missing from a history: round 3"):
        whole([history[0], history[2]])
    with pytest.raises(UserError, match="Round 1 is missing"):
        whole(history[1:])


def test_changes_are_checked() -> None:
    assert checked_changes(run([None, 0.1]), "accuracy") == [None, 0.1]
    with pytest.raises(UserError, match="Round 1 did not record the signal 'cka'; it has accuracy"):
        checked_changes(run([None]), "cka")
    with pytest.raises(UserError, match="the change of 'accuracy' in round 2"):
        checked_changes(run([None, math.nan]), "accuracy")
