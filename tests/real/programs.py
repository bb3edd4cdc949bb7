"""Third-party programs, each in a separate environment that `make test-real` creates."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 1200.0  # seconds that anything here may take: Label Studio starts in one minute, on a busy machine in ten

Found = TypeVar("Found")


def program(environment: str, name: str) -> str:
    """Where a program is."""
    path = ROOT / f".venv-{environment}" / "bin" / name
    if not path.exists():
        pytest.skip("`make test-real` installs what this test needs")
    return str(path)


@contextmanager
def running(command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Runs a program during the test; its output goes to `log`."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **(environment or {})}, cwd=log.parent
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def until(look: Callable[[], Found | None], what: str) -> Found:
    """Wait until the function returns a true value."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.5)
    raise AssertionError(f"{what} did not come within {LIMIT:g} seconds")
