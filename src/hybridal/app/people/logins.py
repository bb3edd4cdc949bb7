"""Browsers that are signed in."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Login, Person, now
from hybridal.app.people.tokens import digest, draw

DAYS = 30


@dataclass(frozen=True)
class Visitor:
    """Whoever sits at a browser that is signed in, and the word that their changes must be sent with."""

    person: Person
    csrf: str
    login: str

    @property
    def name(self) -> str:
        return self.person.name

    @property
    def role(self) -> str:
        return self.person.role

    @property
    def can_return(self) -> bool:
        """Whether they could sign in again; the owner on their own machine has only the link of each start."""
        return self.person.password is not None


def sign_in(session: Session, person: Person) -> str:
    """Signs a browser in; the secret goes into its cookie."""
    session.execute(delete(Login).where(Login.until <= now()))
    token = draw()
    until = now() + DAYS * 86_400
    session.add(Login(token=digest(token), person_number=person.number, csrf=draw(), until=until))
    return token


def find(session: Session, token: str) -> Visitor | None:
    """Who has this cookie, if they may still come in."""
    found = session.execute(
        select(Person, Login.csrf, Login.token)
        .join(Login)
        .where(Login.token == digest(token), Login.until > now(), Person.active)
    ).one_or_none()
    return None if found is None else Visitor(*found)


def sign_out(session: Session, login: str) -> None:
    """Forgets a browser, by what is kept of its cookie."""
    session.execute(delete(Login).where(Login.token == login))
