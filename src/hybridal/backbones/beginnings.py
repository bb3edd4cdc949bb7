"""Tokenise only the beginning of texts that are much longer than a model reads.

Tokenizers encode the whole text and then truncate, which takes seconds for some megabytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Characters per token to start with; in most languages a token has fewer, so one attempt is enough.
LETTERS = 8
# Factor for the next attempt.
MORE = 4

# The end of a word for every word-by-word tokenizer; no accent can follow between such a letter and a space.
_END = re.compile(r"[0-9A-Za-z](?= )")

# Pre-tokenizers whose pieces never span a letter and a following space; later steps work on each piece.
_WORD_BY_WORD = ("BertPreTokenizer", "ByteLevel", "Metaspace", "Whitespace", "WhitespaceSplit")
# Normalizers that change a letter depending only on neighbours in the same word.
_NEAR = ("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Precompiled", "Strip", "StripAccents")


def encode_beginnings(backend: Any, texts: Sequence[str], length: int) -> list[list[int]]:
    """Return the same token ids as encoding whole texts, for a tokenizer that `reads_word_by_word`."""
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
    """Return the first letters up to the end of a word, or the whole text if no word ends after them.

    >>> beginning("to be or not to be", 7)
    'to be or'
    >>> beginning("生存还是毁灭，这是一个问题", 7)
    '生存还是毁灭，这是一个问题'
    """
    found = _END.search(text, letters) if letters < len(text) else None
    return text if found is None else text[: found.end()]


def reads_word_by_word(backend: Any) -> bool:
    """Return whether tokens of a word do not depend on later words, and texts are truncated at their end."""
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
    """Return the steps of a part of a tokenizer, as in its file."""
    if part is None:
        return []
    steps: dict[str, Any] = json.loads(part.__getstate__())
    return steps[under] if steps["type"] == "Sequence" else [steps]
