"""Put a prefix before every text, as some encoders were trained: "query: " for E5.

The tokenizer inserts the tokens of the prefix, like its special tokens. So whatever reads texts with that tokenizer
needs no further care: training, passes, exports for transformers and ONNX, and the app. Truncation never removes it.
"""

from __future__ import annotations

from typing import Any

from hybridal.errors import UserError

# Texts on which inserting tokens must equal reading the prefix and the text together.
_SAMPLES = ("goal", "The moon, and 3 stars.", " x", "...", "Ünïcödé", "北京")


def insert_prefix(backend: Any, prefix: str, where: object) -> None:
    """Make a tokenizer of the library `tokenizers` put the tokens of a prefix before every text.

    Args:
        backend: The tokenizer, which is changed and must not pad; its truncation is kept.
        prefix: The prefix.
        where: Folder of the encoder, for the error.

    Raises:
        UserError: If the tokenizer reads the start of a text differently after another text, as byte-level ones do.

    Example:
        >>> from hybridal.backbones import load_backbone
        >>> from hybridal.testing.small import toy_task
        >>> from tokenizers import Tokenizer
        >>> backend = Tokenizer.from_file(str(load_backbone("tiny", toy_task()).folder / "tokenizer.json"))
        >>> together = backend.encode("team: the goal").ids
        >>> insert_prefix(backend, "team: ", "tiny")
        >>> backend.encode("the goal").ids == together
        True
    """
    from tokenizers.processors import TemplateProcessing

    truncation = backend.truncation
    backend.no_truncation()
    head = backend.encode(prefix.rstrip(), add_special_tokens=False)
    expected = [backend.encode(prefix + text).ids for text in _SAMPLES]
    whole, bare = backend.encode("goal"), backend.encode("goal", add_special_tokens=False)
    start = next(at for at in range(len(whole.ids)) if whole.ids[at : at + len(bare.ids)] == bare.ids)
    end = start + len(bare.ids)
    pieces = {
        "before": (whole.ids[:start] + head.ids, whole.tokens[:start] + head.tokens),
        "after": (whole.ids[end:], whole.tokens[end:]),
    }
    special = [{"id": name, "ids": ids, "tokens": tokens} for name, (ids, tokens) in pieces.items() if ids]
    after = ["after"] if pieces["after"][0] else []
    backend.post_processor = TemplateProcessing(
        single=["before", "$A", *after], pair=["before", "$A", *after, "$B:1", *after], special_tokens=special
    )
    if [backend.encode(text).ids for text in _SAMPLES] != expected:
        raise UserError(
            f"The tokenizer in {where} cannot put the prefix {prefix!r} before texts: it reads a text differently "
            "after it; remove the prompt from config_sentence_transformers.json to use the encoder without one."
        )
    if truncation is not None:
        backend.enable_truncation(**truncation)
