"""Access tokens for programs of a person: created, shown once, and withdrawn."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, ForbiddenError, MissingError
from hybridal.app.db.schema import AccessToken, Person, now
from hybridal.app.people import User, checked_name, draw_token, may, token_digest, with_article
from hybridal.sentences import Sentence

PREFIX = "hybridal_"  # lets secret scanners recognise a leaked token
MOST_TOKENS = 50
SECONDS_BETWEEN_USES = 60.0


def make_token(session: Session, user: User, name: str, role: str) -> tuple[AccessToken, str]:
    """Create a token; return it with its secret, which is not stored."""
    if not may(user.role, role):
        raise ForbiddenError(f"You are {with_article(user.role)} here; your token cannot be {with_article(role)}'s.")
    mine = select(func.count()).where(AccessToken.person_number == user.person.number)
    if (session.scalar(mine) or 0) >= MOST_TOKENS:
        raise ConflictError(
            Sentence("You have {most} tokens already; withdraw one that is not used any more.", most=MOST_TOKENS)
        )
    secret = PREFIX + draw_token()
    made = AccessToken(
        digest=token_digest(secret), name=checked_name(name), role=role, person_number=user.person.number
    )
    session.add(made)
    session.flush()
    return made, secret


def list_tokens(session: Session, user: User) -> Sequence[Row[AccessToken, str]]:
    """List a person's tokens with their name, newest first; an owner sees those of all people."""
    found = select(AccessToken, Person.name).join(Person, Person.number == AccessToken.person_number)
    if not may(user.role, "owner"):
        found = found.where(AccessToken.person_number == user.person.number)
    return session.execute(found.order_by(AccessToken.number.desc())).all()


def withdraw_token(session: Session, user: User, number: int) -> None:
    """Delete a token; an owner may delete those of all people."""
    found = session.get(AccessToken, number)
    if found is None or not (found.person_number == user.person.number or may(user.role, "owner")):
        raise MissingError(f"You have no token number {number}.")
    session.execute(delete(AccessToken).where(AccessToken.number == number))


def find_token(session: Session, secret: str) -> tuple[User, bool] | None:
    """Find the user of a token, and whether its use has to be noted; None if it is not valid."""
    found = session.execute(
        select(Person, AccessToken)
        .join(AccessToken, AccessToken.person_number == Person.number)
        .where(AccessToken.digest == token_digest(secret), Person.active)
    ).one_or_none()
    if found is None:
        return None
    person, token = found
    unnoted = token.used is None or token.used < now() - SECONDS_BETWEEN_USES
    return User(person, csrf_token="", login=f"token {token.number}", token_role=token.role), unnoted


def note_use(session: Session, secret: str) -> None:
    """Store the time of a token's use."""
    session.execute(update(AccessToken).where(AccessToken.digest == token_digest(secret)).values(used=now()))
