"""A program that runs another one with limits: `limited.py BYTES SECONDS PROGRAM [ARGUMENT ...]`.

It imports nothing from hybridal, to start quickly.
"""

from __future__ import annotations

import runpy
import sys
from contextlib import suppress


def set_limits(memory: int, seconds: int) -> None:
    """Limit the address space and the computing time of this process, where its system can."""
    with suppress(ImportError):  # Windows has no such limits
        import resource

        for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
            hard = resource.getrlimit(kind)[1]
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            with suppress(ValueError, OSError):  # macOS refuses some
                resource.setrlimit(kind, (soft, hard))


if __name__ == "__main__":
    _, memory, seconds, *sys.argv = sys.argv
    set_limits(int(memory), int(seconds))
    runpy.run_path(sys.argv[0], run_name="__main__")
