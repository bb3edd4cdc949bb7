"""What went wrong, in one sentence that shows nothing of the server: as JSON, or as a page for a person."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from starlette.exceptions import HTTPException

from hybridal.app.web.pages import trouble
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


def problem_of(error: Exception, request: Request) -> Response:
    """The answer to a request that failed so: a page where a browser wants to show one, else JSON."""
    status, sentence = told(error)
    answer = trouble(status, sentence) if _shows_a_page(request) else JSONResponse({"error": sentence}, status)
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})
    return answer


def told(error: Exception) -> tuple[int, str]:
    """The status and the sentence for it."""
    if isinstance(error, UserError):
        return getattr(error, "status", 400), str(error)
    if isinstance(error, RequestValidationError):
        return 422, _first(error)
    if isinstance(error, UnicodeEncodeError):
        return 422, "It contains half a character (a lone surrogate), which can be written nowhere."
    if isinstance(error, HTTPException):
        words = {404: "There is no such page.", 405: "This cannot be done here."}.get(error.status_code)
        return error.status_code, words or f"{str(error.detail).rstrip('.')}."
    log.error("A request failed.", exc_info=error)
    if isinstance(error, IntegrityError):
        return 409, "Somebody else was faster; look again and repeat it."
    if isinstance(error, SQLAlchemyError) and "disk is full" in str(error):
        return 503, "The server's disk is full; nothing was changed, make room and try again."
    if isinstance(error, SQLAlchemyError):
        return 503, "The database cannot be reached at the moment; nothing was changed, try again."
    return 500, "Something went wrong on our side; nothing was changed."


def _shows_a_page(request: Request) -> bool:
    asks_for_html = "text/html" in request.headers.get("accept", "")
    return asks_for_html and not request.scope["path"].startswith(("/api/", "/ml/"))


def _first(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return f"{where[:100]}: {first['msg'][:200]}."


def handle(app: FastAPI) -> None:
    """Teaches an app to answer so; what it does not expect at all comes to the doorman."""

    def answer(request: Request, error: Exception) -> Response:
        return problem_of(error, request)

    for kind in (UserError, RequestValidationError, UnicodeEncodeError, HTTPException, SQLAlchemyError):
        app.add_exception_handler(kind, answer)
