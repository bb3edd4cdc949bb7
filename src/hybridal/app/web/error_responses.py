"""Errors as one sentence that shows nothing of the server: as JSON, or as a page for a person."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from starlette.exceptions import HTTPException

from hybridal.app.web.pages import error_page
from hybridal.app.web.paths import path_of
from hybridal.errors import UserError

log = logging.getLogger(__name__)


class Problem(BaseModel):
    """Why a request was refused."""

    error: str


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words}
    for status, words in {
        400: "The request is not valid.",
        401: "Nobody is signed in.",
        403: "Not allowed.",
        404: "Not found.",
        409: "Conflicts with existing data.",
        410: "The text was deleted.",
        413: "Too large.",
        422: "The request body is not valid.",
        429: "Too many requests.",
        503: "The database is not available.",
    }.items()
}
"""What every route may answer, for the OpenAPI document."""


def error_response(error: Exception, request: Request) -> Response:
    """The answer to a request that failed so: a page where a browser wants to show one, else JSON."""
    status, sentence = status_and_message(error)
    answer = (
        error_page(request, status, sentence) if _shows_a_page(request) else JSONResponse({"error": sentence}, status)
    )
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})
    return answer


def status_and_message(error: Exception) -> tuple[int, str]:
    """The status and the sentence for it."""
    if isinstance(error, UserError):
        return getattr(error, "status", 400), str(error)
    if isinstance(error, RequestValidationError):
        return 422, _first(error)
    if isinstance(error, UnicodeEncodeError):
        return 422, "The text contains a lone surrogate, which is not a valid character."
    if isinstance(error, HTTPException):
        words = {404: "There is nothing at this address.", 405: "This method is not allowed here."}
        return error.status_code, words.get(error.status_code, f"{str(error.detail).rstrip('.')}.")
    log.error("A request failed.", exc_info=error)
    if isinstance(error, IntegrityError):
        return 409, "Somebody else changed this at the same time; reload and try again."
    if isinstance(error, SQLAlchemyError) and "disk is full" in str(error):
        return 503, "The server's disk is full, so nothing was changed. Free some space and try again."
    if isinstance(error, SQLAlchemyError):
        return 503, "The database cannot be reached right now, so nothing was changed. Try again."
    return 500, "The server had an error; nothing was changed."


def _shows_a_page(request: Request) -> bool:
    """Only a browser's address bar or a plain link, such as that of a download, asks for HTML; programs never do."""
    asks_for_html = "text/html" in request.headers.get("accept", "")
    return asks_for_html and (path_of(request).startswith("/api/export/") or not _is_api(request))


def _is_api(request: Request) -> bool:
    return path_of(request).startswith(("/api/", "/ml/"))


def _first(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return f"{where[:100]}: {first['msg'][:200]}."


def add_handlers(app: FastAPI) -> None:
    """Teaches an app to answer so; what it does not expect at all comes to the middleware."""

    def answer(request: Request, error: Exception) -> Response:
        return error_response(error, request)

    for kind in (UserError, RequestValidationError, UnicodeEncodeError, HTTPException, SQLAlchemyError):
        app.add_exception_handler(kind, answer)
