from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import IntegrityError, OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from hybridal.app import people
from hybridal.app.app_errors import (
    ConflictError,
    ForbiddenError,
    MissingError,
    SignInError,
    TooLargeError,
    TooOftenError,
)
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.labelling import classes
from hybridal.app.web.error_responses import ERROR_RESPONSES, error_response
from hybridal.app.webhooks.address import check_url
from hybridal.errors import UserError
from hybridal.sentences import Sentence

WRONG = [
    (UserError("No."), 400),
    (SignInError("No."), 401),
    (ForbiddenError("No."), 403),
    (MissingError("No."), 404),
    (ConflictError("No."), 409),
    (TooLargeError("No."), 413),
    (TooOftenError("No."), 429),
    (HTTPException(405), 405),
    (HTTPException(400, "There was an error parsing the body"), 400),
    (RequestValidationError([{"loc": ("body", "n"), "msg": "is wrong", "type": "x"}]), 422),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "/secret"), 422),
    (RequestValidationError([{"loc": ("body", "n" * 10**6), "msg": "is wrong", "type": "x"}]), 422),
    (IntegrityError("INSERT", {}, Exception("/secret")), 409),
    (OperationalError("INSERT", {}, Exception("/secret")), 503),
    (RuntimeError("/secret"), 500),
]


def asking(path: str, accept: str = "text/html,application/xhtml+xml,*/*;q=0.8") -> Request:
    return Request({"type": "http", "path": path, "headers": [(b"accept", accept.encode())]})


@pytest.mark.parametrize(("error", "status"), WRONG)
def test_every_problem_is_one_sentence(error: Exception, status: int) -> None:
    answer = error_response(error, asking("/api/next"))
    body = json.loads(bytes(answer.body))
    assert (answer.status_code, list(body)) == (status, ["error"])
    assert body["error"].endswith(".")
    assert "secret" not in body["error"]
    assert len(body["error"]) < 400


def test_documented_errors_cover_actual_responses() -> None:
    assert {status for _, status in WRONG} - {405, 500} <= set(ERROR_RESPONSES)


def test_unknown_address_gives_browsers_a_page_and_programs_json() -> None:
    lost = HTTPException(404)
    shown = error_response(lost, asking("/textss"))
    assert (shown.status_code, shown.media_type) == (404, "text/html")
    assert "There is nothing at this address." in bytes(shown.body).decode()
    assert error_response(lost, asking("/api/export/model.zip")).media_type == "text/html"
    for request in (
        asking("/api/export/model.zip", "application/json"),
        asking("/api/nothing"),
        asking("/ml/nothing"),
        asking("/textss", "*/*"),
    ):
        assert error_response(lost, request).media_type == "application/json"


def test_a_full_disk_is_called_so(caplog: pytest.LogCaptureFixture) -> None:
    answer = error_response(
        OperationalError("COMMIT", {}, Exception("database or disk is full")), asking("/api/annotations")
    )
    assert (answer.status_code, b"disk is full" in bytes(answer.body)) == (503, True)
    assert [(record.getMessage(), record.exc_info) for record in caplog.records] == [
        ("A request failed: the disk is full.", None)
    ]


def german(error: Exception) -> str:
    headers = [(b"accept-language", b"de")]
    answer = error_response(error, Request({"type": "http", "path": "/api/classes", "headers": headers}))
    sentence: str = json.loads(bytes(answer.body))["error"]
    return sentence


def test_errors_that_people_cause_are_shown_in_their_language(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK")
    for cause, sentence in (
        (lambda: classes.checked(""), "Eine Klasse braucht einen Namen von 1 bis 200 Zeichen."),
        (lambda: people.check_password("short"), "Ein Passwort braucht 8 bis 200 Zeichen."),
        (lambda: ProjectArchive(tmp_path / "x.zip"), "Diese Datei ist nicht der Export eines Projekts."),
        (
            lambda: check_url("ftp://x"),
            "„ftp://x“ ist keine Adresse, die sich aufrufen lässt; schreiben Sie sie wie https://host/pfad.",
        ),
    ):
        with pytest.raises(UserError) as caught:
            cause()
        assert german(caught.value) == sentence


def test_a_name_that_must_be_escaped_is_shown_in_english() -> None:
    assert (
        german(UserError(Sentence("A class '{name}' already exists.", name="a\nb")))
        == r"A class 'a\nb' already exists."
    )


def test_a_body_that_grows_too_large_is_refused_in_the_language_of_the_page() -> None:
    sentence = Sentence("The file is too large; the limit is {most} MB.", most=200)
    assert german(HTTPException(413, sentence)) == "Die Datei ist zu groß; die Grenze liegt bei 200 MB."
