from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.app.trainer.reason import LONGEST, reason
from hybridal.errors import RunError, UserError

FOLDER = Path("/home/ann/my texts/tickets.hybridal")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("Backbone 'x' cannot be loaded."), "Backbone 'x' cannot be loaded."),
        (RunError(f"{FOLDER}/runs/001/checkpoint is damaged."), "runs/001/checkpoint is damaged."),
        (UserError(f"{FOLDER} is in use."), "tickets.hybridal is in use."),
        (OSError(2, "No file", "/home/ann/.cache/x.bin"), "FileNotFoundError: [Errno 2] No file: 'x.bin'"),
        (RuntimeError("CUDA error: out of memory\nat /usr/lib/a.so"), "RuntimeError: CUDA error: out of memory"),
        (ValueError("and/or 1/2 of http://x.org/a"), "ValueError: and/or 1/2 of http://x.org/a"),
        (ValueError(), "ValueError"),
        (KeyError("(/opt/a/b.py:12)"), "KeyError: '(b.py:12)'"),
    ],
)  # fmt: skip
def test_a_reason_is_one_line_without_folders_of_the_machine(error: Exception, said: str) -> None:
    assert reason(error, FOLDER) == said


def test_a_long_reason_is_cut() -> None:
    assert len(reason(ValueError("x" * 5000), FOLDER)) == LONGEST
