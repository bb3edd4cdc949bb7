"""Coming in and going out."""

from __future__ import annotations

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from pydantic import Field
from sqlalchemy import select

from hybridal.app.db.schema import Person
from hybridal.app.errors import SignInError
from hybridal.app.people import accounts, invitations, logins
from hybridal.app.people.passwords import LONGEST, fits, hashed
from hybridal.app.project import Project
from hybridal.app.web.access import Annotator, Opened
from hybridal.app.web.cookies import cookie_name, set_cookie
from hybridal.app.web.limits import Limit
from hybridal.app.web.shapes import Done, Shape, Words

router = APIRouter(prefix="/api")

# To hash a password takes a moment and 64 MB, on purpose: strangers must not make the app do forty at once.
_HASHING = CapacityLimiter(2)


class Credentials(Shape):
    """A name and its password."""

    name: Words = Field(max_length=accounts.LONGEST)
    password: str = Field(max_length=LONGEST)


class Joining(Credentials):
    """Who takes an invitation up."""

    token: str = Field(max_length=100)


@router.post("/login")
async def login(given: Credentials, request: Request, response: Response, project: Opened) -> Done:
    """Signs this browser in."""
    _slow_down(request, given.name)
    return await run_sync(_sign_in, given, request, response, project, limiter=_HASHING)


@router.post("/join")
async def join(given: Joining, request: Request, response: Response, project: Opened) -> Done:
    """Takes an invitation up, and signs this browser in."""
    _slow_down(request, given.token)
    return await run_sync(_take_up, given, request, response, project, limiter=_HASHING)


def _sign_in(given: Credentials, request: Request, response: Response, project: Project) -> Done:
    with project.reads() as session:
        name = " ".join(given.name.split())  # as it was kept: some keyboards add a blank
        person = session.scalar(select(Person).where(Person.name == name, Person.active))
    if not fits(given.password, person.password if person else None) or person is None:
        raise SignInError("The name or the password is wrong.")
    with project.sessions.begin() as session:
        set_cookie(response, request, project, logins.sign_in(session, person))
    return Done()


def _take_up(given: Joining, request: Request, response: Response, project: Project) -> Done:
    with project.reads() as session:
        invitations.check(session, given.token)
    password = hashed(given.password)  # slow on purpose: not while others wait to write
    with project.sessions.begin() as session:
        person = invitations.accept(session, given.token, given.name, password)
        set_cookie(response, request, project, logins.sign_in(session, person))
    return Done()


@router.post("/logout")
def logout(visitor: Annotator, request: Request, response: Response, project: Opened) -> Done:
    """Signs this browser out."""
    with project.sessions.begin() as session:
        logins.sign_out(session, visitor.login)
    request.app.state.guests.forget()
    response.delete_cookie(cookie_name(project))
    return Done()


def _slow_down(request: Request, name: str) -> None:
    """Nobody tries many passwords, neither of one person nor of many."""
    address = request.client.host if request.client else ""
    tries: Limit = request.app.state.tries
    visits: Limit = request.app.state.visits
    visits.insist(address)
    tries.insist((address, name.casefold()))
