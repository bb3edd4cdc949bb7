"""Errors with an HTTP status."""

from __future__ import annotations

from hybridal.errors import UserError


class MissingError(UserError):
    """It names something that does not exist."""

    status = 404


class GoneError(MissingError):
    """It names something that was deleted: asking again is of no use."""

    status = 410


class ConflictError(UserError):
    """It contradicts what is there already."""

    status = 409


class SignInError(UserError):
    """Nobody is signed in."""

    status = 401


class ForbiddenError(UserError):
    """Somebody is signed in who may not do this."""

    status = 403


class TooLargeError(UserError):
    """A file or an answer is larger than what is taken."""

    status = 413


class TooOftenError(UserError):
    """Asked too often in too short a time."""

    status = 429
