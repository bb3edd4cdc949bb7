"""Where the tokenizer, which the trainer saves in the project's folder, truncates a text."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

from hybridal.app.project import READER_FILE, Project

log = logging.getLogger(__name__)

# Texts rarely have more characters per token, so tokenizing the beginning of a long text is usually enough.
_CHARACTERS_PER_TOKEN = 20


def truncation_point(project: Project, text: str) -> int | None:
    """How much of a text the model reads, in UTF-16 code units as browsers count; None: all of it, or unknown."""
    path = project.folder / READER_FILE
    try:
        tokenizer = _tokenizer(path, path.stat().st_mtime_ns)
        limit = (tokenizer.truncation or {}).get("max_length", len(text))
        characters = limit * _CHARACTERS_PER_TOKEN
        beginning = tokenizer.encode(text[:characters])
        encoded = beginning if beginning.overflowing or len(text) <= characters else tokenizer.encode(text)
    except FileNotFoundError:
        return None
    except Exception:  # a damaged file must not prevent labelling, and the library raises nothing more specific
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
