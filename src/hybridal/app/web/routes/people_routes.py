"""Signing in and out, the people of the project, and invitations."""

from __future__ import annotations

from typing import Literal

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from pydantic import Field
from sqlalchemy import delete, func, select

from hybridal.app.app_errors import ForbiddenError, SignInError
from hybridal.app.db.schema import AccessToken, Invitation, Lease, LoginSession, Person, Vote
from hybridal.app.people import (
    LONGEST_NAME,
    LONGEST_PASSWORD,
    accept_invitation,
    change_password,
    change_person,
    check_invitation,
    hash_password,
    invite,
    may,
    password_fits,
    project_owner,
    revoke_invitation,
    sign_in,
    sign_out,
)
from hybridal.app.project import Project
from hybridal.app.web.auth import AtBrowser, CurrentProject, Owner, OwnerAtBrowser, cookie_name, set_cookie
from hybridal.app.web.middleware import RateLimiter
from hybridal.app.web.paths import link
from hybridal.app.web.project_threads import Router, in_thread
from hybridal.app.web.proxy import signed_in_as
from hybridal.app.web.schemas import CleanStr, Done, Items, Number, Schema

router = Router(prefix="/api")

# To hash a password takes a moment and 64 MB, on purpose: strangers must not make the app do forty at once.
_HASHING = CapacityLimiter(2)


async def passwords_are_here(request: Request) -> None:
    """Refuses whatever has to do with passwords where people sign in elsewhere."""
    if signed_in_as(request) is not None:
        raise ForbiddenError("People sign in before they come here; this app has no passwords for them.")


WITH_PASSWORDS = [Depends(passwords_are_here)]


class Credentials(Schema):
    """A name and its password."""

    name: CleanStr = Field(max_length=LONGEST_NAME)
    password: str = Field(max_length=LONGEST_PASSWORD)


class JoinRequest(Credentials):
    """Who takes an invitation up."""

    token: str = Field(max_length=100)


@router.post("/login", dependencies=WITH_PASSWORDS)
async def login(given: Credentials, request: Request, response: Response, project: CurrentProject) -> Done:
    """Signs this browser in."""
    _slow_down(request, given.name)
    person = await in_thread(_find, project, given.name)
    fits = await run_sync(password_fits, given.password, person.password if person else None, limiter=_HASHING)
    if not fits or person is None:
        raise SignInError("The name or the password is wrong.")
    set_cookie(response, request, project, await in_thread(_sign_in, project, person))
    return Done()


@router.post("/join", dependencies=WITH_PASSWORDS)
async def join(given: JoinRequest, request: Request, response: Response, project: CurrentProject) -> Done:
    """Takes an invitation up, and signs this browser in."""
    _slow_down(request, given.token)
    await in_thread(_check, project, given.token)
    password = await run_sync(hash_password, given.password, limiter=_HASHING)
    set_cookie(response, request, project, await in_thread(_join, project, given, password))
    return Done()


def _find(project: Project, name: str) -> Person | None:
    with project.reads() as session:
        name = " ".join(name.split())  # as it was kept: some keyboards add a blank
        return session.scalar(select(Person).where(Person.name == name, Person.active))


def _sign_in(project: Project, person: Person) -> str:
    with project.sessions.begin() as session:
        return sign_in(session, person)


def _check(project: Project, token: str) -> None:
    with project.reads() as session:
        check_invitation(session, token)


def _join(project: Project, given: JoinRequest, password: str) -> str:
    with project.sessions.begin() as session:
        return sign_in(session, accept_invitation(session, given.token, given.name, password))


@router.post("/logout")
def logout(user: AtBrowser, request: Request, response: Response, project: CurrentProject) -> Done:
    """Signs this browser out."""
    with project.sessions.begin() as session:
        sign_out(session, user.login)
    request.app.state.sessions.clear()
    response.delete_cookie(cookie_name(project), link(request, "/"))
    return Done()


class PasswordChange(Schema):
    """Whose password shall be another: `number` for an owner who resets it, else one's own, with the `old` one."""

    new: str = Field(max_length=LONGEST_PASSWORD)
    old: str = Field("", max_length=LONGEST_PASSWORD)
    number: Number | None = None


@router.post("/password", dependencies=WITH_PASSWORDS)
async def set_password(given: PasswordChange, user: AtBrowser, request: Request, project: CurrentProject) -> Done:
    """Changes one's own password, or resets somebody's, which ends their tokens too; other browsers are signed out."""
    _slow_down(request, user.name)
    number = given.number or user.person.number
    mine = number == user.person.number
    if not mine and not may(user.role, "owner"):
        raise ForbiddenError("Only an owner may reset the password of somebody else.")
    known = not mine or not user.can_return
    if not known and not await run_sync(password_fits, given.old, user.person.password, limiter=_HASHING):
        raise ForbiddenError("The old password is wrong.")
    password = await run_sync(hash_password, given.new, limiter=_HASHING)
    await in_thread(_set_password, project, number, password, user.login if mine else None)
    request.app.state.sessions.clear()
    return Done()


def _set_password(project: Project, number: int, password: str, keep: str | None) -> None:
    with project.sessions.begin() as session:
        if keep is None and number == project_owner(session).number:
            raise ForbiddenError("Who began the project sets their password when they start the app.")
        change_password(session, number, password, keep)


def _slow_down(request: Request, name: str) -> None:
    """Nobody tries many passwords, neither of one person nor of many."""
    address = request.client.host if request.client else ""
    tries: RateLimiter = request.app.state.tries
    visits: RateLimiter = request.app.state.visits
    visits.insist(address)
    tries.insist((address, name.casefold()))


class PersonSchema(Schema):
    """Somebody who answers, and how much."""

    number: int
    name: str
    kind: str
    role: str
    active: bool
    labels: int
    skips: int


class PersonChange(Schema):
    """What shall be other of a person."""

    number: Number
    name: CleanStr | None = Field(None, max_length=LONGEST_NAME)
    role: Literal["annotator", "reviewer", "owner"] | None = None
    active: bool | None = None


@router.get("/people")
def list_people(_: Owner, project: CurrentProject) -> Items[PersonSchema]:
    """Everybody who has a say, with what they have said."""
    said = select(Vote.person_number, func.count(Vote.class_number), func.count())
    with project.reads() as session:
        counts = {who: (n, all) for who, n, all in session.execute(said.group_by(Vote.person_number))}
        everybody = session.scalars(select(Person).order_by(Person.number)).all()
    shapes: list[PersonSchema] = []
    for person in everybody:
        labels, answers = counts.get(person.number, (0, 0))
        facts = {name: getattr(person, name) for name in ("number", "name", "kind", "role", "active")}
        shapes.append(PersonSchema(**facts, labels=labels, skips=answers - labels))
    return Items(items=shapes)


@router.patch("/people")
def update_person(change: PersonChange, _: OwnerAtBrowser, project: CurrentProject, request: Request) -> Done:
    """Another name or role; or, not active any more, an end to all they have open."""
    with project.sessions.begin() as session:
        person = change_person(session, **change.model_dump())
        if not person.active:
            for table in (LoginSession, AccessToken, Lease):
                session.execute(delete(table).where(table.person_number == person.number))
    request.app.state.sessions.clear()
    return Done()


class InvitationSchema(Schema):
    """An invitation, without its secret."""

    number: int
    role: str
    until: float
    used_by: str | None
    revoked: bool


class InvitationRole(Schema):
    """What the invited person may do."""

    role: Literal["annotator", "reviewer", "owner"]


class InvitationLink(Schema):
    """Where the invited person goes; it is told only once."""

    number: int
    path: str


@router.get("/invitations")
def list_invitations(_: Owner, project: CurrentProject) -> Items[InvitationSchema]:
    """All invitations, newest first."""
    found = select(Invitation, Person.name).outerjoin(Person, Person.number == Invitation.used_by)
    with project.reads() as session:
        rows = session.execute(found.order_by(Invitation.number.desc()).limit(1000)).all()
    return Items(
        items=[
            InvitationSchema(number=one.number, role=one.role, until=one.until, used_by=name, revoked=one.revoked)
            for one, name in rows
        ]
    )


@router.post("/invitations", dependencies=WITH_PASSWORDS)
def create_invitation(
    asked: InvitationRole, _: OwnerAtBrowser, request: Request, project: CurrentProject
) -> InvitationLink:
    """A new link for one person."""
    with project.sessions.begin() as session:
        made, token = invite(session, asked.role)
        return InvitationLink(number=made.number, path=link(request, f"/join/{token}"))


@router.post("/invitations/{number}/revoke")
def revoke(number: Number, _: Owner, project: CurrentProject) -> Done:
    """Makes a link worthless."""
    with project.sessions.begin() as session:
        revoke_invitation(session, number)
    return Done()
