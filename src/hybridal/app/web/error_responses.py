"""Errors as one sentence that reveals nothing about the server, as JSON or as a page."""

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
from hybridal.app.web.translations import language_of, translation
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable

log = logging.getLogger(__name__)


class Problem(BaseModel):
    """Why a request was refused."""

    error: str


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words}
    for status, words in {
        400: "The request is not valid.",
        401: "Not signed in.",
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
"""The error responses of every route, for the OpenAPI document."""


def error_response(error: Exception, request: Request) -> Response:
    """The response for an error: a page if a browser navigates to the address, else JSON."""
    status, english = status_and_message(error)
    sentence = translation(language_of(request)).sentence(english)
    answer = (
        error_page(request, status, sentence) if _shows_a_page(request) else JSONResponse({"error": sentence}, status)
    )
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})
    return answer


def status_and_message(error: Exception) -> tuple[int, str]:
    """The HTTP status of an error and its sentence."""
    if isinstance(error, UserError):
        return getattr(error, "status", 400), error.args[0]
    if isinstance(error, RequestValidationError):
        return 422, _first(error)
    if isinstance(error, UnicodeEncodeError):
        return 422, translatable("The text contains a lone surrogate, which is not a valid character.")
    if isinstance(error, HTTPException):
        sentences = {
            404: translatable("There is nothing at this address."),
            405: translatable("This method is not allowed here."),
        }
        if isinstance(error.detail, Sentence):
            return error.status_code, error.detail
        return error.status_code, sentences.get(error.status_code, f"{str(error.detail).rstrip('.')}.")
    if isinstance(error, SQLAlchemyError) and "disk is full" in str(error):
        log.error("A request failed: the disk is full.")  # browsers repeat it until it is not
        return 503, translatable("The server's disk is full, so nothing was changed. Free some space and try again.")
    log.error("A request failed.", exc_info=error)
    if isinstance(error, IntegrityError):
        return 409, translatable("Another person changed this at the same time; reload and try again.")
    if isinstance(error, SQLAlchemyError):
        return 503, translatable("The database cannot be reached right now, so nothing was changed. Try again.")
    return 500, translatable("The server had an error; nothing was changed.")


def _shows_a_page(request: Request) -> bool:
    """Whether a browser navigates here, from the address bar or a link; scripts and programs do not ask for HTML."""
    asks_for_html = "text/html" in request.headers.get("accept", "")
    return asks_for_html and (path_of(request).startswith("/api/export/") or not _is_api(request))


def _is_api(request: Request) -> bool:
    return path_of(request).startswith(("/api/", "/ml/"))


def _first(error: RequestValidationError) -> str:
    """The first validation error as a sentence."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return f"{where[:100]}: {first['msg'][:200]}."


def add_handlers(app: FastAPI) -> None:
    """Register the handlers of expected errors; the middleware handles all others."""

    def answer(request: Request, error: Exception) -> Response:
        return error_response(error, request)

    for kind in (UserError, RequestValidationError, UnicodeEncodeError, HTTPException, SQLAlchemyError):
        app.add_exception_handler(kind, answer)
