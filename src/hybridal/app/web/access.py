"""Who asks, and whether they may: a route says the least role in the type of its visitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from hybridal.app.errors import ForbiddenError, SignInError
from hybridal.app.people.accounts import may
from hybridal.app.people.logins import Visitor
from hybridal.app.project import Project


def opened(request: Request) -> Project:
    """The project that this app serves."""
    project: Project = request.app.state.project
    return project


def visitor(request: Request) -> Visitor | None:
    """Who is signed in, as the doorman found out."""
    found: Visitor | None = getattr(request.state, "visitor", None)
    return found


def at_least(role: str) -> Callable[[Request], Visitor]:
    """A dependency that lets in who may do what this role may."""

    # Not a thread's work, and so `async`: the doorman has asked the database already.
    async def let_in(request: Request) -> Visitor:
        found = visitor(request)
        if found is None:
            raise SignInError("Sign in first.")
        if not may(found.person, role):
            raise ForbiddenError(f"Only {'an' if role[0] in 'ao' else 'a'} {role} may do this.")
        return found

    return let_in  # type: ignore[return-value]


async def _opened(request: Request) -> Project:
    return opened(request)  # `async`, or FastAPI would ask a thread for it


Opened = Annotated[Project, Depends(_opened)]
Annotator = Annotated[Visitor, Depends(at_least("annotator"))]
Reviewer = Annotated[Visitor, Depends(at_least("reviewer"))]
Owner = Annotated[Visitor, Depends(at_least("owner"))]
