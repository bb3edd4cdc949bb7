"""Record changes of software and hardware when a run, a comparison or a study is resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybridal.system.journal import Journal


def record_environment(
    folder: Path,
    begun: Mapping[str, Any],
    here: Mapping[str, Any],
    rounds: int | Mapping[str, int],
    notify: Callable[[str], None],
) -> None:
    """Record the environment of the next rounds, if it differs from the last recorded one.

    Results are equal to the last bit only in the same environment.

    Args:
        folder: The run, comparison or study.
        begun: Content of `run.json` or `study.json`, with the first environment.
        here: The current environment.
        rounds: Number of rounds recorded so far, or that of each cell.
        notify: Receives a message if the device is another one.
    """
    journal = Journal(folder / "places.jsonl")
    last: Mapping[str, Any] = [begun, *journal.read()][-1]
    if all(last.get(part) == here[part] for part in here):
        return
    journal.append({"rounds": rounds, "created": datetime.now(UTC).isoformat(timespec="seconds"), **here})
    before, now = last.get("hardware", {}).get("device"), here["hardware"]["device"]
    if before != now:
        notify(
            f"{folder} continues on device {now}, after {before}: further results are not equal bit for bit to those "
            f"of {before}; {journal.path.name} records from which round on."
        )
