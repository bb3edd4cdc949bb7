"""Errors with an HTTP status."""

from __future__ import annotations

from hybridal.errors import UserError


class MissingError(UserError):
    """The request names something that does not exist."""

    status = 404


class GoneError(MissingError):
    """The request names something that was deleted; repeating it is useless."""

    status = 410


class ConflictError(UserError):
    """The request conflicts with the current state."""

    status = 409


class SignInError(UserError):
    """The request needs a signed-in user."""

    status = 401


class ForbiddenError(UserError):
    """The signed-in user may not do this."""

    status = 403


class TooLargeError(UserError):
    """A file or a request is larger than the limit."""

    status = 413


class TooOftenError(UserError):
    """Too many requests in a short time."""

    status = 429
