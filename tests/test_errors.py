from __future__ import annotations

import pickle

import pytest

from hybridal.errors import RunError, UserError


@pytest.mark.parametrize("kind", [UserError, RunError])
def test_user_error_is_a_value_error_with_an_optional_field(kind: type[UserError]) -> None:
    error = kind("`seed` must be a whole number.", field="seed")
    assert isinstance(error, ValueError)
    assert (str(error), error.field) == ("`seed` must be a whole number.", "seed")
    assert kind("Make room.").field is None


def test_user_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(RunError("`seed` must be a whole number.", field="seed")))
    assert (type(error), str(error), error.field) == (RunError, "`seed` must be a whole number.", "seed")
