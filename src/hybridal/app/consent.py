"""Remembers on this machine to which addresses a project may send by itself.

A project folder from another machine may have a running language model job or webhooks. Opening it must not send its
texts and labels anywhere: the owner has to allow each address once. The memory is outside the project's folder, so that
the folder cannot bring its own consent.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from pathlib import Path

from platformdirs import user_state_path

from hybridal.app.project import Project

log = logging.getLogger(__name__)


def may_send(project: Project, url: str) -> bool:
    """Whether the project may send to this address without being told to."""
    return not project.asks_before_sending or _mark(project, url).exists()


def allow_sending(project: Project, url: str) -> None:
    """Remember that the owner allowed this address; without a writable folder, the next start asks again."""
    if not project.asks_before_sending:
        return
    mark = _mark(project, url)
    try:
        mark.parent.mkdir(0o700, parents=True, exist_ok=True)
        mark.touch(0o600)
    except OSError as error:
        log.warning("It cannot be remembered that this project may send (%s).", error.strerror)


def _mark(project: Project, url: str) -> Path:
    """An empty file for each project and address; hashed, because an address may contain a secret."""
    name = sha256(f"{project.key}\n{url}".encode()).hexdigest()
    return user_state_path("hybridal", appauthor=False) / "allowed-addresses" / name
