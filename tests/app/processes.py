"""Child processes without a parent that waits."""

from __future__ import annotations

from pathlib import Path


def lives(pid: int) -> bool:
    """Whether a process runs. An ended process stays listed as a zombie until its parent collects its status."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
