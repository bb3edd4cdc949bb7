"""The people of a project: accounts and roles, passwords, invitations, and sessions of signed-in browsers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from secrets import token_urlsafe
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from hybridal.app import project_settings
from hybridal.app.app_errors import ConflictError, ForbiddenError, MissingError
from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import AccessToken, Invitation, LoginSession, Person, now
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable


def draw_token() -> str:
    """Draw an unguessable secret."""
    return token_urlsafe(32)


def token_digest(token: str) -> str:
    """Hash a token for storage.

    >>> len(token_digest("secret"))
    64
    """
    return sha256(token.encode(errors="replace")).hexdigest()


SHORTEST_PASSWORD, LONGEST_PASSWORD = 8, 200

_hasher = PasswordHasher()


def check_password(password: str) -> None:
    """Refuse a password that is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UserError(
            Sentence("A password needs {least} to {most} characters.", least=SHORTEST_PASSWORD, most=LONGEST_PASSWORD)
        )


def hash_password(password: str) -> str:
    """Check a password and hash it for storage."""
    check_password(password)
    return _hasher.hash(password)


def verify_password(password: str, hashed: str | None) -> bool:
    """Compare a password with a hash. It takes as long without a hash, so that timing reveals no account."""
    try:
        return _hasher.verify(hashed or _unused_hash(), password) and hashed is not None
    except VerificationError:
        return False


@cache
def _unused_hash() -> str:
    return _hasher.hash("not a password")


ROLES = ("annotator", "reviewer", "owner")
"""Each role may do what those before it may."""

CREATOR = "me"  # the owner's first name in a project
FILE_ANNOTATOR = "(file)"
LONGEST_NAME = 80


def may(role: str, needed: str) -> bool:
    """Whether a role includes the rights of another.

    >>> may("reviewer", "annotator"), may("reviewer", "owner")
    (True, False)
    """
    return ROLES.index(role) >= ROLES.index(needed)


def with_article(role: str) -> str:
    """Put the article before a role.

    >>> with_article("owner"), with_article("reviewer")
    ('an owner', 'a reviewer')
    """
    return f"{'an' if role[0] in 'ao' else 'a'} {role}"


def file_annotator(session: Session) -> Person:
    """Return the annotator of the labels that came with the texts."""
    return machine_annotator(session, FILE_ANNOTATOR, "file")


def machine_annotator(session: Session, name: str, kind: str) -> Person:
    """Return an annotator that is not a person; it is added on first use."""
    found = session.scalar(select(Person).where(Person.name == name))
    if found is None:
        found = Person(name=name, kind=kind)
        session.add(found)
        session.flush()
    return found


def project_owner(session: Session) -> Person:
    """Return the person who created the project; they always stay an owner."""
    return session.scalars(select(Person).where(Person.kind == "person").order_by(Person.number).limit(1)).one()


def add_person(session: Session, name: str, role: str, password: str | None = None) -> Person:
    """Add a person; `password` is the hash."""
    name = checked_name(name)
    _check_free(session, name)
    person = Person(name=name, role=role, password=password)
    session.add(person)
    session.flush()
    return person


def change_person(
    session: Session, number: int, *, name: str | None = None, role: str | None = None, active: bool | None = None
) -> Person:
    """Rename a person, change their role, or deactivate them; their annotations stay."""
    person = session.get(Person, number)
    if person is None:
        raise MissingError(f"There is no person number {number}.")
    began = person.number == project_owner(session).number
    if person.kind != "person" or (began and (role not in (None, "owner") or active is False)):
        raise ConflictError(translatable("The project's creator always stays an owner, and a machine has no role."))
    if name is not None and checked_name(name) != person.name:
        _check_free(session, checked_name(name), person.number)
        person.name = checked_name(name)
    person.role = role or person.role
    person.active = person.active if active is None else active
    return person


def change_password(session: Session, number: int, password: str, keep: str | None = None) -> Person:
    """Set a password hash, and sign out every browser except the login `keep`.

    Without `keep` it is a reset, which also removes the person's access tokens, since anyone might have had them.
    """
    person = session.get(Person, number)
    if person is None or person.kind != "person":
        raise MissingError(f"There is no person number {number}.")
    person.password = password
    others = LoginSession.token != (keep or "")
    session.execute(delete(LoginSession).where(LoginSession.person_number == number, others))
    if keep is None:
        session.execute(delete(AccessToken).where(AccessToken.person_number == number))
    return person


def _check_free(session: Session, name: str, but: int = 0) -> None:
    key = name_key(name)
    others = session.execute(select(Person.name).where(Person.number != but)).scalars()
    if any(name_key(other) == key for other in others):
        raise ConflictError(Sentence("The name '{name}' is already taken; choose another.", name=name))


def name_key(name: str) -> str:
    """Return what two spellings of a name have in common: names that differ only in case or blanks are the same.

    Databases lower the case of ASCII letters only, so names are compared here.

    >>> name_key(" Petra  MÜLLER ") == name_key("petra müller")
    True
    """
    return " ".join(normalize("NFKC", name).casefold().split())


def find_by_name(session: Session, name: str) -> Person | None:
    """Find a person by name, ignoring case; the exact spelling decides between people of older projects.

    It reads the names of all people, so it takes as long for an unknown name.
    """
    key = name_key(name)
    alike = [one for one in session.scalars(select(Person).order_by(Person.number)) if name_key(one.name) == key]
    exact = [one for one in alike if one.name == " ".join(name.split())]
    return next(iter(exact), None) or (alike[0] if len(alike) == 1 else None)


def checked_name(name: str) -> str:
    """Normalise and check the name of a person; names in brackets are reserved for machines.

    >>> checked_name(" Ada ")
    'Ada'
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or name.startswith("(") or not name.isprintable():
        raise UserError(
            Sentence(
                "A name needs 1 to {most} printable characters and must not start with a bracket.", most=LONGEST_NAME
            )
        )
    return name


def find_newcomer(session: Session, name: str) -> Person | None:
    """Find the person whom a proxy signed in under this name; None if they are new."""
    found = session.scalar(select(Person).where(Person.name == name))
    if found is not None and (found.kind != "person" or not found.active):
        raise ForbiddenError(Sentence("'{name}' may not come in; ask the owner of this project.", name=name[:40]))
    return found


def add_newcomer(session: Session, name: str) -> Person:
    """Add a person whom a proxy signed in, with the role that the owner set for newcomers."""
    exclusive(session)  # a page sends several requests at once
    if found := find_newcomer(session, name):
        return found
    role = project_settings.read(session)["newcomers"]
    if role == "none":
        raise ForbiddenError(
            Sentence("'{name}' is not among the people of this project; ask its owner.", name=name[:40])
        )
    return add_person(session, name, role)


INVITATION_DAYS = 14


def invite(session: Session, role: str) -> tuple[Invitation, str]:
    """Add an invitation; return it with the secret of its link, which is not stored."""
    token = draw_token()
    made = Invitation(token=token_digest(token), role=role, until=now() + INVITATION_DAYS * 86_400)
    session.add(made)
    session.flush()
    return made, token


def check_invitation(session: Session, token: str) -> Invitation:
    """Return the invitation of a link.

    Raises:
        ForbiddenError: The invitation is not valid; the sentence says why, which only a person with the link learns.
    """
    found = session.scalar(select(Invitation).where(Invitation.token == token_digest(token)))
    if found is None:
        raise ForbiddenError(translatable("There is no such invitation; check the link, or ask for a new one."))
    if found.used_by is not None:
        raise ForbiddenError(translatable("This invitation has already been used; sign in, or ask for a new one."))
    if found.revoked:
        raise ForbiddenError(translatable("This invitation was withdrawn; ask for a new one."))
    if found.until <= now():
        raise ForbiddenError(translatable("This invitation has expired; ask for a new one."))
    return found


def accept_invitation(session: Session, token: str, name: str, password: str) -> Person:
    """Add the person whom an invitation admits; `password` is the hash."""
    exclusive(session)  # two requests at the same moment admit one person
    found = check_invitation(session, token)
    person = add_person(session, name, found.role, password)
    found.used_by = person.number
    return person


def revoke_invitation(session: Session, number: int) -> None:
    """Invalidate a link; a person who used it stays."""
    found = session.get(Invitation, number)
    if found is None:
        raise MissingError(f"There is no invitation number {number}.")
    found.revoked = True


SESSION_DAYS = 30


@dataclass(frozen=True)
class User:
    """The person behind a request.

    Attributes:
        person: Their row in the database.
        csrf_token: Required with every change that a signed-in browser sends; empty for a program with an access token.
        login: Digest of the session cookie, or the number of the access token or of the person that a proxy named.
        token_role: Role of the access token, which limits what a program may do; None for a browser.
        by_proxy: A reverse proxy signed the person in; it manages their password.
    """

    person: Person
    csrf_token: str
    login: str
    token_role: str | None = None
    by_proxy: bool = False

    @property
    def name(self) -> str:
        return self.person.name

    @property
    def role(self) -> str:
        return min(self.person.role, self.token_role or self.person.role, key=ROLES.index)

    @property
    def can_return(self) -> bool:
        """Whether they have a password here; a local owner has only the link that each start prints."""
        return self.person.password is not None and not self.by_proxy


def sign_in(session: Session, person: Person) -> str:
    """Create a session; return the secret for the browser's cookie."""
    session.execute(delete(LoginSession).where(LoginSession.until <= now()))
    token = draw_token()
    until = now() + SESSION_DAYS * 86_400
    row = LoginSession(token=token_digest(token), person_number=person.number, csrf_token=draw_token(), until=until)
    session.add(row)
    return token


def find_session(session: Session, token: str) -> User | None:
    """Find the user of a session cookie; None if it has expired or they were deactivated."""
    found = session.execute(
        select(Person, LoginSession.csrf_token, LoginSession.token)
        .join(LoginSession)
        .where(LoginSession.token == token_digest(token), LoginSession.until > now(), Person.active)
    ).one_or_none()
    return None if found is None else User(*found)


def sign_out(session: Session, login: str) -> None:
    """Delete a session, by the digest of its cookie."""
    session.execute(delete(LoginSession).where(LoginSession.token == login))
