"""Who runs a server of several projects, and comes in by a link, a password, or the word of a proxy."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from hybridal.app.db.schema import Person
from hybridal.app.people import User, draw_token, hash_password, password_fits, token_digest
from hybridal.app.web.auth import keep_cookie
from hybridal.app.web.middleware import AccessMiddleware
from hybridal.app.web.proxy import signed_in_as


class Operator:
    """The password, if there is one, and the browsers that are signed in; a new start of the server signs all out.

    Or their `name`, where a proxy signs people in: then nothing else counts.
    """

    def __init__(self, password: str | None = None, name: str | None = None) -> None:
        self.password = None if password is None else hash_password(password)
        self.named = None if name is None else (name, User(_person(name), draw_token(), "proxy", by_proxy=True))
        self.cookie = f"hybridal_server_{draw_token()[:8]}"
        self._users: dict[str, User] = {}

    def fits(self, password: str) -> bool:
        """Whether it is the password; slow on purpose."""
        return password_fits(password, self.password)

    def admit(self, request: Request, answer: Response) -> None:
        """Signs a browser in."""
        token = draw_token()
        login = token_digest(token)
        self._users[login] = User(_person("operator", self.password), draw_token(), login)
        keep_cookie(answer, request, self.cookie, token, "/")

    def find(self, request: Request) -> User | None:
        """Whether it is they who ask."""
        if self.named is not None:
            name, user = self.named
            return user if signed_in_as(request) == name else None
        cookie = request.cookies.get(self.cookie)
        return None if cookie is None else self._users.get(token_digest(cookie))

    def sign_out(self, user: User) -> None:
        """Forgets a browser."""
        self._users.pop(user.login, None)


def _person(name: str, password: str | None = None) -> Person:
    return Person(name=name, role="owner", password=password)


class OperatorMiddleware(AccessMiddleware):
    """Nothing under /api of the start page is reached but by the operator."""

    async def who(self, request: Request) -> User | None:
        operator: Operator = request.app.state.operator
        return operator.find(request)

    def admit(self, request: Request, answer: Response) -> None:
        operator: Operator = request.app.state.operator
        operator.admit(request, answer)
