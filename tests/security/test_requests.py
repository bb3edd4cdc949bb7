"""Forms, ranges, headers, cookies and bodies that strain the web framework.

Each is an advisory of starlette or python-multipart. What is sent would take a vulnerable version minutes or the whole
memory; the test run's own time limit is what fails then. An attack must be answered by one sentence, never by a 500.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from fastapi import FastAPI

from hybridal.app.web.auth import cookie_name
from hybridal.app.web.pages import static_version

from ..app.web.visits import Visit

FORM = {"Content-Type": "multipart/form-data; boundary=x"}
JSON = {"Content-Type": "application/json"}
TEXTS = "/api/texts"
FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ntext\nhello\n\r\n'


def parts(bodies: Iterable[bytes], more: str = "") -> bytes:
    disposition = f'--x\r\nContent-Disposition: form-data; name="f"{more}\r\n\r\n'.encode()
    return b"".join(disposition + body + b"\r\n" for body in bodies) + b"--x--\r\n"


BODIES = {
    "thousands of fields": (parts([b"1"] * 5000), FORM),
    "thousands of files": (parts([b"1"] * 5000, '; filename="a.csv"'), FORM),
    "a field without a file of megabytes, CVE-2024-47874": (parts([b"x" * 900_000] * 2), FORM),
    "no boundary": (FILE, {"Content-Type": "multipart/form-data"}),
    "a boundary of 100 kB": (FILE, {"Content-Type": "multipart/form-data; boundary=" + "x" * 100_000}),
    "line ends before a boundary that is none, CVE-2024-53981": (b"\r\n" * 300_000, FORM),
    "thousands of headers in a part, CVE-2026-42561": (b"--x\r\n" + b"A: b\r\n" * 100_000, FORM),
    "a header of 900 kB in a part, CVE-2026-42561": (b"--x\r\nA: " + b"b" * 900_000, FORM),
    "thousands of urlencoded fields, CVE-2026-54283": (
        b"&".join(b"a=1" for _ in range(200_000)),
        {"Content-Type": "application/x-www-form-urlencoded"},
    ),
    "semicolons, GHSA-5rvq-cxj2-64vf": (b";" * 900_000, {"Content-Type": "application/x-www-form-urlencoded"}),
    "a content type of backslashes, CVE-2024-24762": (
        b"x",
        {"Content-Type": 'application/x-www-form-urlencoded; !="' + "\\" * 5000},
    ),
    "JSON in JSON in JSON": (b"[" * 400_000, JSON),
    "objects in objects": (b'{"a":' * 150_000, JSON),
    "a number of 900,000 digits": (b'{"a":' + b"9" * 900_000 + b"}", JSON),
    "not UTF-8": (b'{"a": "\xff\xfe"}', JSON),
    "half a surrogate pair": (b'{"key": "\\ud800", "text": "\\ud800"}', JSON),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_strains_its_parser_is_refused_in_one_sentence(owner: Visit, name: str) -> None:
    body, headers = BODIES[name]
    path = "/api/annotations" if headers is JSON else TEXTS
    answer = owner.client.post(path, content=body, headers={**headers, "X-CSRF-Token": owner.csrf_token})
    assert answer.status_code in (400, 413, 422), answer.text
    assert 0 < len(answer.json()["error"]) < 300
    assert owner.get("/api/project").json()["counts"]["texts"] == 20


@pytest.mark.parametrize("place", ["before", "after"])
def test_multipart_preamble_and_epilogue_are_skipped(owner: Visit, place: str) -> None:
    """A preamble or epilogue of megabytes took python-multipart minutes (CVE-2026-40347)."""
    around = b"\r\nx" * 300_000
    whole = FILE + b"--x--"
    body = around + b"\r\n" + whole if place == "before" else whole + around
    answer = owner.client.post(TEXTS, content=body, headers={**FORM, "X-CSRF-Token": owner.csrf_token})
    assert answer.status_code in (200, 400), answer.text


def test_a_number_that_json_knows_and_a_limit_does_not_is_refused(owner: Visit) -> None:
    values = ("NaN", "Infinity", "-Infinity", "1e999", "-1", "9" * 400)
    for field, value in product(("timeout", "budget_tokens", "per_minute"), values):
        content = f'{{"{field}": {value}}}'.encode()
        answer = owner.client.put("/api/llm", content=content, headers={**JSON, "X-CSRF-Token": owner.csrf_token})
        assert answer.status_code == 422, (field, value)


RANGES = [
    *("0-" + ",0-" * 5000, ",".join(f"{at}-{at}" for at in range(0, 10_000, 2)), "9" * 5000 + "-", "0-" + "9" * 5000),
    *("-" + "9" * 5000, "-0", "5-1", "a-b", "-", ",", "0-1,", "1-0,0-1"),
]


def test_ranges_of_a_file_never_make_it_longer(stranger: Visit) -> None:
    """Thousands of ranges were merged in quadratic time (CVE-2025-62727), and may be answered with as many parts."""
    path = f"/static/{static_version()}/js/theme.js"
    whole = stranger.client.get(path).content
    for ranges in RANGES:
        answer = stranger.client.get(path, headers={"Range": f"bytes={ranges}"})
        assert answer.status_code in (200, 206, 400, 416), ranges[:40]
        assert len(answer.content) <= 2 * len(whole) + 200, ranges[:40]
    assert stranger.client.get(path, headers={"Range": "bytes=0-3"}).content == whole[:4]


def test_proxy_headers_are_ignored_without_a_proxy(app: FastAPI, stranger: Visit, owner: Visit) -> None:
    """Starlette built the URL that checks looked at from the Host (CVE-2026-48710); other frameworks believe these."""
    told = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Proto": "https",
        "X-Original-URL": "/login",
        "X-Rewrite-URL": "/login",
        "X-Forwarded-Prefix": "/evil",
        "X-Real-IP": "::1",
        "X-HTTP-Method-Override": "GET",
        "Forwarded": "host=evil.example;proto=https",
        "X-Remote-User": "me",
    }
    assert stranger.client.get("/api/project", headers=told).status_code == 401
    assert stranger.client.post("/api/people", headers=told).status_code == 401
    for path in ("/", "/programs/api", "/people"):
        page = owner.client.get(path, headers=told)
        assert page.status_code == 200
        assert "evil" not in page.text
    invited = owner.client.post(
        "/api/invitations", json={"role": "annotator"}, headers={**told, "X-CSRF-Token": owner.csrf_token}
    )
    assert invited.json()["path"].startswith("/join/")


def test_another_sites_name_for_this_machine_is_refused(stranger: Visit) -> None:
    """DNS rebinding in the other direction, as against MLflow's tracking server: a page of evil.example whose name now
    leads to 127.0.0.1 is of the same origin as this app.
    """
    for host in ("evil.example", "localhost.evil.example", "evil.example:8420", "127.0.0.1.nip.io"):
        for path in ("/", "/login", "/api/project", f"/static/{static_version()}/js/theme.js"):
            answer = stranger.client.get(path, headers={"Host": host})
            assert (answer.status_code, "localhost" in answer.text) == (400, True), host


PATHS = [
    *("//api/project", "/api//project", "/./api/project", "/static/../api/project", "/api/login/../project"),
    *("/api/login;/../project", "/api/project/", "/api/project%2f", "/%61pi/project", "/api/join/../../api/project"),
    *("/ml/../api/project", "/api/login%2f..%2fproject", "/login?next=/api/project", "/api/project?x=/api/login"),
]


def test_no_spelling_of_a_path_leads_past_the_login(stranger: Visit) -> None:
    """MLflow's basic-auth compared prefixed paths with its list of open ones (its issue 19691)."""
    for path in PATHS:
        answer = stranger.client.get(path)
        assert answer.status_code in (401, 404) or answer.url.path == "/login", path
        assert '"csrf_token"' not in answer.text


def test_an_unexpected_method_does_nothing(owner: Visit) -> None:
    """Starlette dispatched any method name to an attribute of an endpoint (CVE-2026-48817)."""
    headers = {"Origin": "https://evil.example", "X-CSRF-Token": owner.csrf_token}
    for method in ("TRACE", "OPTIONS", "HEAD", "PUT", "DELETE", "CONNECT", "PROPFIND", "_init_"):
        answer = owner.client.request(method, "/api/project", headers=headers)
        assert answer.status_code in (400, 405), method
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_login_is_neither_lent_by_nor_lost_among_other_cookies(app: FastAPI, owner: Visit) -> None:
    name = cookie_name(app.state.project)
    mine = owner.client.cookies[name]
    owner.client.cookies.clear()
    many = "; ".join(f"a{number}=b" for number in range(5000))
    assert owner.client.get("/api/project", headers={"Cookie": f"{many}; {name}={mine}"}).status_code == 200
    for other in (f"{name}=", f"{name}x={mine}", f"x{name}={mine}", f'{name}="{"x" * 50_000}"', f"{name}={mine}x"):
        assert owner.client.get("/api/project", headers={"Cookie": other}).status_code == 401
