from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from hybridal.app.people import SESSION_DAYS
from hybridal.app.web import operator as module
from hybridal.app.web.operator import Operator


def request(cookie: str = "") -> Request:
    headers = [(b"cookie", cookie.encode())]
    return Request({"type": "http", "headers": headers, "scheme": "http", "server": ("x", 80), "path": "/"})


def browser(operator: Operator) -> Request:
    """One that has just been signed in."""
    answer = Response()
    operator.start_session(request(), answer)
    return request(answer.headers["set-cookie"].partition(";")[0])


def test_a_session_of_the_operator_ends() -> None:
    now = [1000.0]
    operator = Operator("correct-horse", clock=lambda: now[0])
    visitor = browser(operator)
    now[0] += SESSION_DAYS * 86_400 - 1
    assert operator.find(visitor) is not None
    now[0] += 1
    assert operator.find(visitor) is None
    browser(operator)
    assert len(operator._sessions) == 1


def test_sessions_do_not_pile_up() -> None:
    operator = Operator("correct-horse")
    first, *others = [browser(operator) for _ in range(module.MAX_SESSIONS + 1)]
    assert operator.find(first) is None
    users = [operator.find(one) for one in others]
    assert None not in users
    operator.sign_out(users[0])  # type: ignore[arg-type]
    assert operator.find(others[0]) is None
    assert len(operator._sessions) == module.MAX_SESSIONS - 1
