"""Where the model stops reading a text, by the tokenizer that the trainer left in the project's folder."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

from hybridal.app.project import READER_FILE, Project

log = logging.getLogger(__name__)

# Hardly any text has more letters than this for each token: of a long one, the beginning mostly tells.
_LETTERS = 20


def reads_to(project: Project, text: str) -> int | None:
    """How much of a text the model reads, in the units in which browsers count; None: all of it, as far as is known."""
    path = project.folder / READER_FILE
    try:
        tokenizer = _tokenizer(path, path.stat().st_mtime_ns)
        limit = (tokenizer.truncation or {}).get("max_length", len(text))
        beginning = tokenizer.encode(text[: limit * _LETTERS])
        encoded = beginning if beginning.overflowing or len(text) <= limit * _LETTERS else tokenizer.encode(text)
    except FileNotFoundError:
        return None
    except Exception:  # a damaged file must not keep anybody from labelling; the library raises nothing more precise
        log.exception("%s cannot be used.", path.name)
        return None
    if not encoded.overflowing:
        return None
    end = max(end for _, end in encoded.offsets)
    return len(text[:end].encode("utf-16-le")) // 2


@lru_cache(maxsize=2)
def _tokenizer(path: Path, _written: int) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))
