"""For any request, the app answers as its OpenAPI document declares, and never with a server error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hybridal.app.project import Project
from hybridal.app.web.openapi import operations
from hybridal.app.web.web_app import create_app

from ...security.access import ANNOTATOR_AT_BROWSER, OWNER, OWNER_AT_BROWSER, REVIEWER, filled
from ..made_up import make, me
from .visits import HOME, Visit, local, signed_in

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
FILES = ["/api/project", "/api/progress", "/api/trainer", "/api/export/predictions.csv", "/api/export/model.zip"]

# What the app can do does not depend on its project.
schema = schemathesis.openapi.from_dict(create_app(cast("Project", None)).openapi())


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    project = make(tmp_path_factory.mktemp("openapi") / "p")
    yield signed_in(local(project), me(project))
    project.close()


@schema.exclude(path="/api/logout").parametrize()
@settings(
    max_examples=8,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_app_keeps_its_word(case: schemathesis.Case[Any], visit: Visit) -> None:
    cookies = dict(visit.client.cookies)
    answer = case.call(HOME, app=visit.client.app, headers={"X-CSRF-Token": visit.csrf_token}, cookies=cookies)
    case.validate_response(answer, checks=CHECKS)


def test_no_response_contains_a_server_path(tmp_path: Path) -> None:
    project = make(tmp_path / "secret-folder")
    visit = signed_in(local(project), me(project))
    for path in FILES:
        assert "secret-folder" not in visit.get(path).text
    project.close()


def test_every_operation_has_a_summary_and_a_role() -> None:
    found = [*operations(create_app(cast("Project", None)).openapi())]
    assert len({one["operationId"] for *_, one in found}) == len(found)
    assert all(one["summary"] and one["tags"] for *_, one in found)
    whose = {"owner": OWNER, "reviewer": REVIEWER, "browser": ANNOTATOR_AT_BROWSER, "owner, browser": OWNER_AT_BROWSER}
    for role, routes in whose.items():
        documented = {(method.upper(), filled(path)) for path, method, one in found if one["x-role"] == role}
        assert documented == {(method, filled(path)) for method, path in routes if path.startswith("/api/")}


def test_every_example_is_one_that_the_app_takes(owner: Visit) -> None:
    document = owner.get("/api/openapi.json").json()
    sent = 0
    for path, method, one in operations(document):
        content = one.get("requestBody", {}).get("content", {}).get("application/json")
        if content and path.startswith("/api/") and method != "get":
            answer = owner.send(method.upper(), filled(path), content["example"])
            assert answer.status_code not in (422, 500), (path, content["example"], answer.text)
            sent += 1
    assert sent > 12
