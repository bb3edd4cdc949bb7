"""Child processes without a parent that waits."""

from __future__ import annotations

from pathlib import Path


def lives(pid: int) -> bool:
    """Whether it runs. Who has ended stays in the list until its parent has asked how, which may take that a while."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
