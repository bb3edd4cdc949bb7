"""Routes for signing in and out, the project's members, and invitations."""

from __future__ import annotations

from typing import Literal

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from pydantic import Field
from sqlalchemy import delete, func, select

from hybridal.app.app_errors import ForbiddenError, SignInError
from hybridal.app.audit_log import log_action
from hybridal.app.db.schema import AccessToken, Invitation, Lease, LoginSession, Person, Vote
from hybridal.app.own_keys import CHANGEABLE_KEYS, set_own_keys
from hybridal.app.people import (
    LONGEST_NAME,
    LONGEST_PASSWORD,
    accept_invitation,
    change_password,
    change_person,
    check_invitation,
    find_by_name,
    hash_password,
    invite,
    may,
    name_key,
    project_owner,
    revoke_invitation,
    sign_in,
    sign_out,
    verify_password,
)
from hybridal.app.project import Project
from hybridal.app.web.auth import (
    Annotator,
    BrowserOwner,
    BrowserUser,
    CurrentProject,
    Owner,
    cookie_name,
    set_project_cookie,
)
from hybridal.app.web.middleware import RateLimiter
from hybridal.app.web.paths import link
from hybridal.app.web.project_threads import Router, in_thread
from hybridal.app.web.proxy import signed_in_as
from hybridal.app.web.schemas import CleanStr, Done, Items, Number, Schema
from hybridal.sentences import translatable

router = Router(prefix="/api")

# Hashing a password takes 64 MB and some time, on purpose. Limit it, so that strangers cannot exhaust the memory.
_HASHING = CapacityLimiter(2)


async def require_passwords(request: Request) -> None:
    """Refuse routes for passwords and invitations if a proxy signs people in."""
    if signed_in_as(request) is not None:
        raise ForbiddenError(translatable("A proxy signs people in; this app has no passwords."))


WITH_PASSWORDS = [Depends(require_passwords)]


class Credentials(Schema):
    """A name and a password."""

    name: CleanStr = Field(max_length=LONGEST_NAME)
    password: str = Field(max_length=LONGEST_PASSWORD)


class JoinRequest(Credentials):
    """Credentials of the invited person, and the token of the invitation."""

    token: str = Field(max_length=100)


@router.post("/login", dependencies=WITH_PASSWORDS)
async def login(given: Credentials, request: Request, response: Response, project: CurrentProject) -> Done:
    """Sign this browser in."""
    _limit_attempts(request, given.name)
    person = await in_thread(_find, project, given.name)
    fits = await run_sync(verify_password, given.password, person.password if person else None, limiter=_HASHING)
    if not fits or person is None:
        raise SignInError(translatable("The name or the password is wrong."))
    set_project_cookie(response, request, project, await in_thread(_sign_in, project, person))
    return Done()


@router.post("/join", dependencies=WITH_PASSWORDS)
async def join(given: JoinRequest, request: Request, response: Response, project: CurrentProject) -> Done:
    """Accept an invitation and sign this browser in."""
    _limit_attempts(request, given.token)
    await in_thread(_check, project, given.token)
    password = await run_sync(hash_password, given.password, limiter=_HASHING)
    set_project_cookie(response, request, project, await in_thread(_join, project, given, password))
    return Done()


def _find(project: Project, name: str) -> Person | None:
    with project.reads() as session:
        found = find_by_name(session, name)
        return found if found is not None and found.active else None


def _sign_in(project: Project, person: Person) -> str:
    with project.sessions.begin() as session:
        return sign_in(session, person)


def _check(project: Project, token: str) -> None:
    with project.reads() as session:
        check_invitation(session, token)


def _join(project: Project, given: JoinRequest, password: str) -> str:
    with project.sessions.begin() as session:
        person = accept_invitation(session, given.token, given.name, password)
        log_action(session, person, "people", "join", role=person.role)
        return sign_in(session, person)


@router.post("/logout")
def logout(user: BrowserUser, request: Request, response: Response, project: CurrentProject) -> Done:
    """Sign this browser out."""
    with project.sessions.begin() as session:
        sign_out(session, user.login)
    request.app.state.sessions.clear()
    response.delete_cookie(cookie_name(project), link(request, "/"))
    return Done()


class PasswordChange(Schema):
    """A new password: of person `number` if an owner resets it, else one's own, with the `old` one."""

    new: str = Field(max_length=LONGEST_PASSWORD)
    old: str = Field("", max_length=LONGEST_PASSWORD)
    number: Number | None = None


@router.post("/password", dependencies=WITH_PASSWORDS)
async def set_password(given: PasswordChange, user: BrowserUser, request: Request, project: CurrentProject) -> Done:
    """Change one's own password, or reset another person's, which also ends their tokens; signs out other browsers."""
    _limit_attempts(request, user.name)
    number = given.number or user.person.number
    mine = number == user.person.number
    if not mine and not may(user.role, "owner"):
        raise ForbiddenError(translatable("Only an owner may reset the password of another person."))
    needs_old = mine and user.can_return
    if needs_old and not await run_sync(verify_password, given.old, user.person.password, limiter=_HASHING):
        raise ForbiddenError(translatable("The old password is wrong."))
    password = await run_sync(hash_password, given.new, limiter=_HASHING)
    await in_thread(_set_password, project, user.person, number, password, user.login if mine else None)
    request.app.state.sessions.clear()
    return Done()


def _set_password(project: Project, by: Person, number: int, password: str, keep: str | None) -> None:
    with project.sessions.begin() as session:
        if keep is None and number == project_owner(session).number:
            raise ForbiddenError(translatable("The project's first owner sets their password when they start the app."))
        change_password(session, number, password, keep)
        log_action(session, by, "people", "password", person=session.get_one(Person, number).name)


def _limit_attempts(request: Request, name: str) -> None:
    """Limit password attempts by address, and by address and name."""
    address = request.client.host if request.client else ""
    tries: RateLimiter = request.app.state.tries
    visits: RateLimiter = request.app.state.visits
    visits.acquire(address)
    tries.acquire((address, name_key(name)))


class OwnKeys(Schema):
    """The chosen key of each function of the page Label that has one, by its usual key; {} for the usual keys."""

    keys: dict[CleanStr, CleanStr] = Field(max_length=len(CHANGEABLE_KEYS), examples=[{"s": "x"}])


@router.put("/own-keys")
def choose_keys(given: OwnKeys, user: Annotator, project: CurrentProject, request: Request) -> OwnKeys:
    """Change one's own keys of the page Label, on all devices."""
    with project.sessions.begin() as session:
        set_own_keys(session, user.person, given.keys)
    request.app.state.sessions.clear()
    return given


class PersonSchema(Schema):
    """A person or other annotator, with the number of their labels and skips. Copies for look-alikes do not count."""

    number: int
    name: str
    kind: str
    role: str
    active: bool
    labels: int
    skips: int


class PersonChange(Schema):
    """Fields to update."""

    number: Number
    name: CleanStr | None = Field(None, max_length=LONGEST_NAME)
    role: Literal["annotator", "reviewer", "owner"] | None = None
    active: bool | None = None


@router.get("/people")
def list_people(_: Owner, project: CurrentProject) -> Items[PersonSchema]:
    """All people, the language model and the file, with their numbers of labels and skips."""
    votes = select(Vote.person_number, func.count(func.coalesce(Vote.class_number, Vote.label_set)), func.count())
    votes = votes.where(~Vote.copied)
    with project.reads() as session:
        counts = {number: (n, total) for number, n, total in session.execute(votes.group_by(Vote.person_number))}
        people = session.scalars(select(Person).order_by(Person.number)).all()
    items: list[PersonSchema] = []
    for person in people:
        labels, total = counts.get(person.number, (0, 0))
        facts = {name: getattr(person, name) for name in ("number", "name", "kind", "role", "active")}
        items.append(PersonSchema(**facts, labels=labels, skips=total - labels))
    return Items(items=items)


@router.patch("/people")
def update_person(change: PersonChange, user: BrowserOwner, project: CurrentProject, request: Request) -> Done:
    """Change a person's name or role, or deactivate them, which ends their sessions, tokens and leases."""
    with project.sessions.begin() as session:
        known = session.get(Person, change.number)
        before = {} if known is None else {name: getattr(known, name) for name in ("name", "role", "active")}
        person = change_person(session, **change.model_dump())
        values = {name: [old, now] for name, old in before.items() if (now := getattr(person, name)) != old}
        if values:
            log_action(session, user.person, "people", "change", person=person.name, **values)
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
    """The path of the invitation link; shown only once."""

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
    given: InvitationRole, user: BrowserOwner, request: Request, project: CurrentProject
) -> InvitationLink:
    """Create an invitation link for one person."""
    with project.sessions.begin() as session:
        made, token = invite(session, given.role)
        log_action(session, user.person, "people", "invite", role=given.role)
        return InvitationLink(number=made.number, path=link(request, f"/join/{token}"))


@router.post("/invitations/{number}/revoke")
def revoke(number: Number, user: Owner, project: CurrentProject) -> Done:
    """Withdraw an invitation."""
    with project.sessions.begin() as session:
        revoke_invitation(session, number)
        log_action(session, user.person, "people", "revoke", role=session.get_one(Invitation, number).role)
    return Done()
