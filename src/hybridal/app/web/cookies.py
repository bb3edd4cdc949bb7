"""The cookie that keeps a browser signed in."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hybridal.app.people.logins import DAYS
from hybridal.app.project import Project


def cookie_name(project: Project) -> str:
    """Browsers send a cookie to all ports of a host: two projects on one machine need two names."""
    return f"hybridal_{project.key}"


def set_cookie(answer: Response, request: Request, project: Project, token: str) -> None:
    """No script can read it, and no other site can make the browser send it."""
    answer.set_cookie(
        cookie_name(project),
        token,
        max_age=DAYS * 86_400,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
