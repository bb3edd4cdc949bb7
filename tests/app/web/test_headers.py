from __future__ import annotations

import pytest
from fastapi import FastAPI

from hybridal.app.web.headers import STRICT

from .visits import Visit


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/login"),
        ("GET", "/"),
        ("GET", "/nowhere"),
        ("GET", "/static/x/y"),
        ("GET", "/api/project"),
        ("GET", "/api/nowhere"),
        ("POST", "/api/login"),
        ("PUT", "/login"),
        ("GET", "/join/%00"),
        ("GET", "/ml/health"),
    ],
)
def test_every_answer_is_strict_also_where_it_refuses(app: FastAPI, method: str, path: str) -> None:
    answer = Visit(app).client.request(method, path)
    assert {name: answer.headers[name] for name in STRICT} == STRICT
    assert "cache-control" in answer.headers
    assert "server" not in answer.headers


def test_the_policy_allows_no_script_but_our_own_files() -> None:
    policy = dict(part.split(" ", 1) for part in STRICT["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["script-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")
