from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = "{first}import hybridal, os, sys; print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"


@pytest.mark.parametrize(
    ("first", "given", "printed"),
    [
        ("", {}, "3000 False"),
        ("", {"GOMP_SPINCOUNT": "77"}, "77 False"),
        ("", {"OMP_WAIT_POLICY": "active"}, "None False"),
        # A module of that name is enough; importing torch takes seconds.
        ("import sys; sys.modules['torch'] = sys; ", {}, "None True"),
    ],
)
def test_spin_count_is_low_unless_it_is_set_or_comes_too_late(first: str, given: dict[str, str], printed: str) -> None:
    plain = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    program = [sys.executable, "-c", PROGRAM.format(first=first)]
    done = subprocess.run(program, env=plain | given, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == printed
