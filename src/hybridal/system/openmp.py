"""How long torch's OpenMP threads spin while they wait for each other."""

from __future__ import annotations

import os
import sys

SPIN_COUNT = "3000"  # some microseconds; GNU's default is milliseconds and more


def limit_spinning() -> None:
    """Let threads that wait let other programs work soon, unless the environment says how they wait.

    Next to a busy process, a round of a learner takes several times as long without it. OpenMP reads the variable when
    it is loaded, so nothing changes if torch is imported already.
    """
    if "torch" not in sys.modules and "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
