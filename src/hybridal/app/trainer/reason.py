"""Why something failed, in one sentence that may be shown on a page."""

from __future__ import annotations

import re
from pathlib import Path

from hybridal.errors import UserError

LONGEST = 300
_ABSOLUTE = re.compile(r"(?<![\w/.])(?:/[^\s/'\"<>:;,()]+)+/?")


def reason(error: BaseException, folder: Path) -> str:
    """A `UserError`'s own text, else the error's type and first line; files keep their names and lose their folders.

    >>> reason(OSError("no room in /home/ann/texts/tickets.hybridal/runs/001/rounds.jsonl"), Path("/nowhere"))
    'OSError: no room in rounds.jsonl'
    """
    # The project's own folder first: its name may hold spaces, which end a path everywhere else.
    said = str(error).replace(f"{folder}/", "").replace(str(folder), folder.name)
    first = next(iter(said.strip().splitlines()), "").strip()
    bare = _ABSOLUTE.sub(lambda path: Path(path.group()).name, first)
    sentence = bare if isinstance(error, UserError) else f"{type(error).__name__}: {bare}".rstrip(": ")
    return sentence if len(sentence) <= LONGEST else sentence[: LONGEST - 1] + "…"
