"""What went wrong, as JSON of one sentence that shows nothing of the server."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from starlette.exceptions import HTTPException

from hybridal.errors import UserError

log = logging.getLogger(__name__)


class Problem(BaseModel):
    """Why a request was refused."""

    error: str


ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words}
    for status, words in {
        400: "It cannot be done so.",
        401: "Nobody is signed in.",
        403: "Not allowed.",
        404: "There is no such thing.",
        409: "It contradicts what is there.",
        413: "Too large.",
        422: "It is not what was asked for.",
        429: "Too often.",
        503: "The database is away.",
    }.items()
}
"""What every route may answer, for the OpenAPI document."""


def problem(status: int, sentence: str) -> JSONResponse:
    """The answer to a request that is refused."""
    return JSONResponse({"error": sentence}, status)


def problem_of(error: Exception) -> JSONResponse:
    """The answer to a request that failed so."""
    if isinstance(error, UserError):
        return problem(getattr(error, "status", 400), str(error))
    if isinstance(error, RequestValidationError):
        return problem(422, _first(error))
    if isinstance(error, UnicodeEncodeError):
        return problem(422, "It contains half a character (a lone surrogate), which can be written nowhere.")
    if isinstance(error, HTTPException):
        words = {404: "There is no such page.", 405: "This cannot be done here."}.get(error.status_code)
        answer = problem(error.status_code, words or str(error.detail))
        answer.headers.update(error.headers or {})
        return answer
    log.error("A request failed.", exc_info=error)
    if isinstance(error, IntegrityError):
        return problem(409, "Somebody else was faster; look again and repeat it.")
    if isinstance(error, SQLAlchemyError):
        return problem(503, "The database cannot be reached at the moment; nothing was changed, try again.")
    return problem(500, "Something went wrong on our side; nothing was changed.")


def _first(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return f"{where}: {first['msg'][:200]}."


def handle(app: FastAPI) -> None:
    """Teaches an app to answer so; what it does not expect at all comes to the doorman."""

    def answer(_: Request, error: Exception) -> JSONResponse:
        return problem_of(error)

    for kind in (UserError, RequestValidationError, UnicodeEncodeError, HTTPException, SQLAlchemyError):
        app.add_exception_handler(kind, answer)
