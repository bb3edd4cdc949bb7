from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybridal.app.webhooks.address import HOSTS_VARIABLE

from .receiver import Receiver, receiving


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A server on this machine that may be called."""
    monkeypatch.setenv(HOSTS_VARIABLE, "127.0.0.1")
    with receiving() as server:
        yield server
