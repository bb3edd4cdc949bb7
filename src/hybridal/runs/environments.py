"""Where a run, a comparison or a study went on, when that was not where it was before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybridal.runs.journal import Journal


def record_environment(
    folder: Path,
    begun: Mapping[str, Any],
    here: Mapping[str, Any],
    rounds: int | Mapping[str, int],
    notify: Callable[[str], None],
) -> None:
    """Records that what comes after so many lines of `rounds.jsonl` is computed `here`: with which versions, on what.

    The state after a round is the same to the last bit on one machine alone. So nothing is recorded while versions and
    hardware stay those that it was `begun` with.
    """
    journal = Journal(folder / "places.jsonl")
    last: Mapping[str, Any] = [begun, *journal.read()][-1]
    if all(last.get(part) == here[part] for part in here):
        return
    journal.append({"rounds": rounds, "created": datetime.now(UTC).isoformat(timespec="seconds"), **here})
    before, now = last.get("hardware", {}).get("device"), here["hardware"]["device"]
    if before != now:
        notify(
            f"{folder} goes on with device {now}, after {before}: what comes now is not bit for bit what would have "
            f"come there; {journal.path.name} says where that begins."
        )
