"""All routes and the lowest role that may use each; a new route must be added here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI

OPEN = {
    ("POST", "/api/login"),
    ("POST", "/api/join"),
    ("GET", "/login"),
    ("GET", "/service-worker.js"),
    ("GET", "/join/{token}"),
    ("GET", "/static/{version}/{name:path}"),
}
"""The only routes that answer without a login; each addition is a decision."""

ANNOTATOR = {
    ("GET", "/"),
    ("GET", "/texts"),
    ("GET", "/progress"),
    ("GET", "/programs"),
    ("GET", "/programs/api"),
    ("GET", "/api/project"),
    ("GET", "/api/next"),
    ("GET", "/api/next/spare"),
    ("GET", "/api/recall"),
    ("GET", "/api/look-alikes"),
    ("POST", "/api/annotations"),
    ("POST", "/api/undo"),
    ("POST", "/api/annotations/many"),
    ("POST", "/api/decisions/many"),
    ("POST", "/api/undo/many"),
    ("PUT", "/api/own-keys"),
    ("GET", "/comments"),
    ("GET", "/api/comments"),
    ("GET", "/api/comments/people"),
    ("POST", "/api/comments"),
    ("POST", "/api/comments/answers"),
    ("POST", "/api/comments/read"),
    ("GET", "/api/texts"),
    ("GET", "/api/texts/{id:path}"),
    ("GET", "/api/classes"),
    ("GET", "/api/codebook/versions/{version}"),
    ("GET", "/api/codebook/rechecks/next"),
    ("POST", "/api/codebook/rechecks/postpone"),
    ("GET", "/api/trainer"),
    ("POST", "/api/trainer"),
    ("GET", "/api/scoring"),
    ("POST", "/api/scoring/first"),
    ("GET", "/api/progress"),
    ("GET", "/api/quality"),
    ("POST", "/api/explanations"),
    ("GET", "/api/activity"),
    ("GET", "/api/openapi.json"),
}
REVIEWER = {
    ("GET", "/review"),
    ("GET", "/results"),
    ("GET", "/api/shares"),
    ("GET", "/api/shares/file.{kind}"),
    ("GET", "/codebook"),
    ("GET", "/export"),
    ("GET", "/api/review"),
    ("GET", "/api/agreement"),
    ("GET", "/api/confusions"),
    ("GET", "/api/disagreements"),
    ("POST", "/api/adjudications"),
    ("POST", "/api/recall"),
    ("POST", "/api/classes"),
    ("GET", "/api/codebook/versions"),
    ("GET", "/api/codebook/versions/{version}/agreement"),
    ("POST", "/api/scoring"),
    ("GET", "/api/export/labels.{kind}"),
    ("GET", "/api/export/predictions.{kind}"),
    ("GET", "/api/export/model.zip"),
    ("GET", "/api/export/codebook.json"),
    ("GET", "/api/export/label-studio.json"),
}
OWNER = {
    ("GET", "/people"),
    ("GET", "/log"),
    ("GET", "/api/audit"),
    ("GET", "/api/audit.csv"),
    ("GET", "/settings"),
    ("PATCH", "/api/settings"),
    ("GET", "/api/export/project.zip"),
    ("POST", "/api/shares/draw"),
    ("POST", "/api/texts"),
    ("POST", "/api/texts/preview"),
    ("GET", "/api/uploads/{upload}"),
    ("POST", "/api/texts/delete"),
    ("POST", "/api/texts/restore"),
    ("POST", "/api/classes/list"),
    ("PATCH", "/api/classes/{number}"),
    ("POST", "/api/classes/{number}/merge"),
    ("POST", "/api/classes/{number}/delete"),
    ("GET", "/api/classes/deletion"),
    ("GET", "/api/codebook/touched"),
    ("POST", "/api/codebook/split"),
    ("POST", "/api/codebook/redefine"),
    ("POST", "/api/codebook/versions/{version}/dismiss"),
    ("GET", "/api/people"),
    ("GET", "/api/invitations"),
    ("POST", "/api/invitations/{number}/revoke"),
    ("POST", "/api/import/label-studio"),
    ("GET", "/api/webhooks"),
    ("POST", "/api/webhooks/{number}/test"),
    ("POST", "/api/webhooks/{number}/remove"),
    ("GET", "/api/llm"),
    ("PUT", "/api/llm"),
    ("POST", "/api/llm/start"),
    ("POST", "/api/llm/stop"),
    ("POST", "/api/llm/trial"),
    ("GET", "/api/llm/evaluation"),
    ("GET", "/api/spending"),
    ("PUT", "/api/spending/prices"),
}
ANNOTATOR_AT_BROWSER = {
    ("POST", "/api/logout"),
    ("POST", "/api/password"),
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("POST", "/api/tokens/{number}/revoke"),
}
"""A token opens no other way in, which would stay when the token is revoked."""
OWNER_AT_BROWSER = {
    ("PATCH", "/api/people"),
    ("POST", "/api/invitations"),
    ("POST", "/api/webhooks"),
    ("POST", "/api/webhooks/{number}/allow"),
}
REVIEWERS_TOKEN = {
    ("GET", "/ml/health"),
    ("POST", "/ml/setup"),
    ("POST", "/ml/predict"),
    ("POST", "/ml/webhook"),
}
"""What Label Studio calls: only a token counts there."""

LEAST = {
    **dict.fromkeys(ANNOTATOR, "annotator"),
    **dict.fromkeys(REVIEWER, "reviewer"),
    **dict.fromkeys(OWNER, "owner"),
    **dict.fromkeys(ANNOTATOR_AT_BROWSER, "annotator"),
    **dict.fromkeys(OWNER_AT_BROWSER, "owner"),
    **dict.fromkeys(REVIEWERS_TOKEN, "reviewer"),
}
ROLES = ("annotator", "reviewer", "owner")

START_OPEN = {
    ("POST", "/api/login"),
    ("GET", "/login"),
    ("GET", "/static/{version}/{name:path}"),
    ("GET", "/p/{name}"),
    ("GET", "/p/{name}/{path:path}"),
    ("POST", "/p/{name}/{path:path}"),
    ("PUT", "/p/{name}/{path:path}"),
    ("PATCH", "/p/{name}/{path:path}"),
    ("DELETE", "/p/{name}/{path:path}"),
}
"""On the start page of `hybridal serve`; under /p/ is either a project's own app or the sentence that there is none."""
START_OPERATOR = {
    ("GET", "/"),
    ("GET", "/open/{name}"),
    ("POST", "/api/logout"),
    ("GET", "/api/projects"),
    ("POST", "/api/projects"),
    ("PATCH", "/api/projects"),
    ("POST", "/api/projects/delete"),
    ("POST", "/api/projects/duplicate"),
    ("POST", "/api/projects/archives"),
    ("POST", "/api/projects/import"),
    ("GET", "/api/projects/export/{name}.zip"),
    ("POST", "/api/uploads"),
    ("GET", "/api/uploads/{upload}"),
}

Address = tuple[str, str]
_THERE = {"number": "1", "id": "t1", "kind": "csv", "name": "p"}


def routes(app: FastAPI) -> set[Address]:
    """Method and path of everything that an app routes; one without a method is a mount or a websocket."""

    def walk(some: Sequence[Any]) -> Iterator[Address]:
        for route in some:
            if (included := getattr(route, "original_router", None)) is not None:
                yield from walk(included.routes)
            else:
                yield from ((method, route.path) for method in getattr(route, "methods", None) or {"ANY"})

    return {*walk(app.routes)}


def filled(path: str) -> str:
    """The path with existing or plausible parameters."""
    return re.sub(r"{(\w+)(?::path)?}", lambda found: _THERE.get(found[1], "x"), path)
