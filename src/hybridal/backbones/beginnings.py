"""The tokens of a text that is far longer than a model reads: only its beginning is looked at.

A tokenizer makes tokens of the whole text and then cuts: seconds for some megabytes, of which a page is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Of most languages a token has fewer letters, so that the first beginning is enough.
LETTERS = 8
# By how much more is looked at when it was not.
MORE = 4

# Where a word ends for every tokenizer that goes word by word; no accent comes between such a letter and a space.
_END = re.compile(r"[0-9A-Za-z](?= )")

# The first step of these makes pieces that never reach from a letter over a space, and what follows works on each.
_WORD_BY_WORD = ("BertPreTokenizer", "ByteLevel", "Metaspace", "Whitespace", "WhitespaceSplit")
# These change a letter by its neighbours in the same word at most.
_NEAR = ("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Precompiled", "Strip", "StripAccents")


def encode_beginnings(backend: Any, texts: Sequence[str], length: int) -> list[list[int]]:
    """What `backend`, which `reads_word_by_word` and cuts to this length, makes of whole texts."""
    rows: list[list[int]] = [[] for _ in texts]
    left, letters = list(range(len(texts))), LETTERS * length
    while left:
        parts = [beginning(texts[row], letters) for row in left]
        for row, encoding in zip(left, backend.encode_batch_fast(parts), strict=True):
            rows[row] = encoding.ids
        cut = [row for row, part in zip(left, parts, strict=True) if len(part) < len(texts[row])]
        left, letters = [row for row in cut if len(rows[row]) < length], MORE * letters
    return rows


def beginning(text: str, letters: int) -> str:
    """So many letters and the rest of their last word, or all of a text that has no end of a word behind them.

    >>> beginning("to be or not to be", 7)
    'to be or'
    >>> beginning("生存还是毁灭，这是一个问题", 7)
    '生存还是毁灭，这是一个问题'
    """
    found = _END.search(text, letters) if letters < len(text) else None
    return text if found is None else text[: found.end()]


def reads_word_by_word(backend: Any) -> bool:
    """Whether a word's tokens depend on nothing behind the space that follows it, and texts are cut at their end."""
    first, *_ = _steps(backend.pre_tokenizer, "pretokenizers") or [{}]
    return (
        (backend.truncation or {}).get("direction") == "right"
        and backend.padding is None
        and first.get("type") in _WORD_BY_WORD
        and first.get("use_regex", True)
        and first.get("split", True)
        and all(step["type"] in _NEAR for step in _steps(backend.normalizer, "normalizers"))
        and not any(re.search(r"\s", token.content) for token in backend.get_added_tokens_decoder().values())
    )


def _steps(part: Any, under: str) -> Sequence[Mapping[str, Any]]:
    """What a part of a tokenizer does, step by step, as its file has it."""
    if part is None:
        return []
    said: dict[str, Any] = json.loads(part.__getstate__())
    return said[under] if said["type"] == "Sequence" else [said]
