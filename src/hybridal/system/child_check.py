"""Check something in a separate process, whose crash counts as a refusal."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from hybridal.errors import UserError


def require_success(command: Sequence[str], seconds: float) -> None:
    """Run a program that prints one line and exits with another code than 0 if it refuses what it checks.

    Args:
        command: Its command line.
        seconds: How long it may take.

    Raises:
        UserError: It refuses, crashes, or takes longer.

    Example:
        >>> import sys
        >>> require_success([sys.executable, "-S", "-c", "print('it is damaged'); exit(1)"], seconds=60)
        Traceback (most recent call last):
        hybridal.errors.UserError: it is damaged
    """
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as error:
        raise UserError("loading it takes too long") from error
    if done.returncode:
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        raise UserError(lines[-1] if lines else "it cannot be loaded")
