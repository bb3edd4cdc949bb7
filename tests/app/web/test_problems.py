from __future__ import annotations

import json

import pytest
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException

from hybridal.app.errors import ConflictError, ForbiddenError, MissingError, SignInError, TooLargeError, TooOftenError
from hybridal.app.web.problems import ANSWERS, problem_of
from hybridal.errors import UserError

WRONG = [
    (UserError("No."), 400),
    (SignInError("No."), 401),
    (ForbiddenError("No."), 403),
    (MissingError("No."), 404),
    (ConflictError("No."), 409),
    (TooLargeError("No."), 413),
    (TooOftenError("No."), 429),
    (HTTPException(405), 405),
    (RequestValidationError([{"loc": ("body", "n"), "msg": "is wrong", "type": "x"}]), 422),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "/secret"), 422),
    (IntegrityError("INSERT", {}, Exception("/secret")), 409),
    (RuntimeError("/secret"), 500),
]


@pytest.mark.parametrize(("error", "status"), WRONG)
def test_every_problem_is_one_sentence(error: Exception, status: int) -> None:
    answer = problem_of(error)
    said = json.loads(bytes(answer.body))
    assert (answer.status_code, list(said)) == (status, ["error"])
    assert said["error"].endswith(".")
    assert "secret" not in said["error"]


def test_what_is_told_in_advance_covers_what_is_answered() -> None:
    assert {status for _, status in WRONG} - {405, 500} <= set(ANSWERS)
