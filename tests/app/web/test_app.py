from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from hybridal.app.project import Project
from hybridal.app.web.app import api
from hybridal.app.web.uploads import upload_paths

from ..made_up import me
from .visits import Visit, with_token

ANYBODY = {"/api/login", "/api/join"}


def operations(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Method and path of everything that the app can do."""
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), filled(path)


def filled(path: str) -> str:
    """With something that is there, or could be."""
    return path.replace("{number}", "1").replace("{id}", "t1").replace("{kind}", "csv")


def test_the_web_process_never_imports_what_trains() -> None:
    script = (
        "import sys, hybridal.app.web.app, hybridal.app.serve\n"
        "print(sorted({'torch', 'transformers', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_a_login_every_api_route_is_closed(app: FastAPI, stranger: Visit) -> None:
    closed = [(method, path) for method, path in operations(app) if path.startswith("/api/") and path not in ANYBODY]
    assert len(closed) > 30
    for method, path in closed:
        for csrf in ("", "predicted"):
            stranger.csrf = csrf
            answer = stranger.send(method, path, {})
            assert (answer.status_code, answer.json()) == (401, {"error": "Sign in first."}), (method, path)


OWNERS = {
    ("PATCH", "/api/settings"),
    ("POST", "/api/texts"),
    ("POST", "/api/texts/preview"),
    ("PATCH", "/api/classes/1"),
    ("POST", "/api/classes/1/merge"),
    ("GET", "/api/people"),
    ("GET", "/api/invitations"),
    ("POST", "/api/invitations/1/revoke"),
    ("POST", "/api/import/label-studio"),
    ("GET", "/api/webhooks"),
    ("POST", "/api/webhooks/1/test"),
    ("POST", "/api/webhooks/1/remove"),
    ("POST", "/api/texts/delete"),
    ("POST", "/api/texts/restore"),
    ("POST", "/api/classes/1/delete"),
    ("GET", "/api/classes/deletion"),
    ("GET", "/api/llm"),
    ("PUT", "/api/llm"),
    ("POST", "/api/llm/start"),
    ("POST", "/api/llm/stop"),
    ("POST", "/api/llm/trial"),
    ("GET", "/api/llm/evaluation"),
}
REVIEWERS = {
    ("GET", "/api/review"),
    ("GET", "/api/agreement"),
    ("GET", "/api/disagreements"),
    ("POST", "/api/adjudications"),
    ("POST", "/api/classes"),
    ("POST", "/api/scoring"),
    ("GET", "/api/export/labels.csv"),
    ("GET", "/api/export/predictions.csv"),
    ("GET", "/api/export/model.zip"),
    ("GET", "/api/export/label-studio.json"),
}
ANNOTATORS = {
    ("GET", "/api/project"),
    ("GET", "/api/next"),
    ("POST", "/api/annotations"),
    ("POST", "/api/undo"),
    ("POST", "/api/annotations/many"),
    ("POST", "/api/undo/many"),
    ("GET", "/api/texts"),
    ("GET", "/api/texts/t1"),
    ("GET", "/api/classes"),
    ("GET", "/api/trainer"),
    ("GET", "/api/scoring"),
    ("POST", "/api/scoring/first"),
    ("POST", "/api/trainer"),
    ("GET", "/api/progress"),
    ("GET", "/api/openapi.json"),
}
# A token makes no other way in, which would stay when it is withdrawn.
OWNERS_AT_A_BROWSER = {
    ("PATCH", "/api/people"),
    ("POST", "/api/invitations"),
    ("POST", "/api/webhooks"),
}
AT_A_BROWSER = {
    ("POST", "/api/logout"),
    ("POST", "/api/password"),
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("POST", "/api/tokens/1/revoke"),
}


def test_every_route_has_the_role_that_it_should_have(
    app: FastAPI, project: Project, annotator: Visit, reviewer: Visit
) -> None:
    uploads = upload_paths(api().values())
    known = OWNERS | OWNERS_AT_A_BROWSER | REVIEWERS | ANNOTATORS | AT_A_BROWSER
    # A new route is written down above, with the least role that may use it.
    assert {(m, path) for m, path in operations(app) if path.startswith("/api/") and path not in ANYBODY} == known
    programs = [with_token(app, me(project), role) for role in ("annotator", "reviewer", "owner")]
    no_tokens, owners = OWNERS_AT_A_BROWSER | AT_A_BROWSER, OWNERS | OWNERS_AT_A_BROWSER
    closed_to = [(annotator, owners | REVIEWERS), (reviewer, owners)]
    closed_to += zip(programs, (owners | REVIEWERS | no_tokens, owners | no_tokens, no_tokens), strict=True)
    for visit, closed in closed_to:
        for method, path in sorted(known):
            if path == "/api/logout":
                continue
            body: dict[str, Any] = {"files": {"file": ("x.csv", b"text\nx\n")}} if path in uploads else {}
            status = visit.send(method, path, None if body else {}, **body).status_code
            assert (status == 403) == ((method, path) in closed), (method, path, status)


def test_a_change_needs_the_word_that_only_our_pages_know(app: FastAPI, owner: Visit) -> None:
    owner.csrf = "predicted"
    for method, path in operations(app):
        if path.startswith("/api/") and path not in ANYBODY and method != "GET":
            answer = owner.send(method, path, {})
            assert answer.status_code == 403, (method, path)
            assert "reload it" in answer.json()["error"]
