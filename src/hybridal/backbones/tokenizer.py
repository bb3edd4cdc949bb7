"""Load a tokenizer with the library `tokenizers`, if the result is the same as with transformers.

Importing transformers takes seconds. For tokenizers that it knows by name, transformers reads only the vocabulary from
`tokenizer.json` and rebuilds the rest from other files; if these differ, transformers must load the tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridal.backbones.prefix import insert_prefix
from hybridal.system.files import read_object, strict_json

FILE, CONFIG, SPECIAL = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
ADDED = "added_tokens.json"  # of old versions
# All files that a tokenizer may be read from: vocabularies, merges, SentencePiece models, special tokens, options.
TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges.txt", "bpe.codes", "spiece*", "*.model", SPECIAL, ADDED)

# Classes that transformers loads from the file unchanged, and those that it rebuilds, with default special tokens.
_UNCHANGED = ("TokenizersBackend", "PreTrainedTokenizerFast")
_BERT = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
_MPNET = {
    "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>", "unk_token": "[UNK]",
    "pad_token": "<pad>", "mask_token": "<mask>",
}  # fmt: skip
_REBUILT = {
    "BertTokenizer": _BERT, "BertTokenizerFast": _BERT, "MPNetTokenizer": _MPNET, "MPNetTokenizerFast": _MPNET,
}  # fmt: skip
# For other encoders, transformers chooses the tokenizer by other rules.
_ENCODERS = ("bert", "mpnet")
# Options that do not change the tokens.
_IGNORED_OPTIONS = {
    "added_tokens_decoder", "backend", "clean_up_tokenization_spaces", "do_basic_tokenize", "do_lower_case", "is_local",
    "local_files_only", "max_length", "model_input_names", "model_max_length", "name_or_path", "never_split",
    "pad_to_multiple_of", "pad_token_type_id", "padding_side", "special_tokens_map_file", "stride", "strip_accents",
    "tokenize_chinese_chars", "tokenizer_class", "tokenizer_file", "truncation_side", "truncation_strategy", *_MPNET,
}  # fmt: skip
# transformers may correct larger vocabularies.
_MAX_VOCABULARY = 100_000


@dataclass(frozen=True)
class FastTokenizer:
    """A tokenizer that truncates and does not pad; `config` is its `tokenizer_config.json`."""

    backend: Any
    pad: int
    config: dict[str, Any]

    @classmethod
    def of(cls, tokenizer: Any, max_length: int) -> FastTokenizer | None:
        """Take a tokenizer of transformers apart; None if it is not one of the library `tokenizers`."""
        from tokenizers import Tokenizer

        if getattr(tokenizer, "backend_tokenizer", None) is None:
            return None
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())  # the other may be in use elsewhere
        backend.no_padding()
        backend.enable_truncation(max_length, direction=tokenizer.truncation_side)
        config = {name: str(token) for name, token in tokenizer.special_tokens_map.items() if name in _MPNET}
        return cls(backend, int(tokenizer.pad_token_id or 0), config)

    def with_prefix(self, prefix: str, where: Path) -> FastTokenizer:
        """Insert the tokens of a prefix before every text.

        Transformers would rebuild a tokenizer that it knows by name without the prefix, so the class says that the file
        counts. The special tokens that are defaults of the old class are then named.
        """
        insert_prefix(self.backend, prefix, where)
        defaults = _REBUILT.get(str(self.config.get("tokenizer_class", "")), {})
        return FastTokenizer(self.backend, self.pad, {**defaults, **self.config, "tokenizer_class": _UNCHANGED[1]})

    def save(self, folder: Path, max_length: int) -> None:
        """Save for transformers, with this length as the default for truncation."""
        folder.mkdir(parents=True, exist_ok=True)
        self.backend.save(str(folder / FILE))
        config = {**self.config, "model_max_length": max_length}
        (folder / CONFIG).write_text(strict_json(config, indent=2) + "\n", encoding="utf-8")


def read_fast_tokenizer(folder: Path, max_length: int) -> FastTokenizer | None:
    """Load a tokenizer, or return None if transformers might load it differently."""
    from tokenizers import Tokenizer

    if not all((folder / name).is_file() for name in (FILE, CONFIG, "config.json")) or (folder / ADDED).is_file():
        return None
    spec, config = read_object(folder / FILE), read_object(folder / CONFIG)
    if "added_tokens_decoder" not in config and (folder / SPECIAL).is_file():
        config |= {name: _content(token) for name, token in read_object(folder / SPECIAL).items()}
    kind = str(config.get("tokenizer_class", ""))
    tokens = {name: _content(token) for name, token in (_REBUILT.get(kind, {}) | config).items() if name in _MPNET}
    encoder = read_object(folder / "config.json")  # an exported model has its encoder's configuration under `body`
    if encoder.get("body", encoder).get("model_type") not in _ENCODERS or not _is_whole(spec, config, tokens):
        return None
    backend = Tokenizer.from_file(str(folder / FILE))
    backend.no_padding()
    backend.no_truncation()
    if kind not in _UNCHANGED and not (kind in _REBUILT and _is_built_so(spec, config, tokens, backend)):
        return None
    side = config.get("truncation_side") or (spec.get("truncation") or {}).get("direction", "right").lower()
    backend.enable_truncation(max_length, direction=side)
    return FastTokenizer(backend, int(spec["model"]["vocab"][tokens["pad_token"]]), config)


def _is_whole(spec: Mapping[str, Any], config: Mapping[str, Any], tokens: Mapping[str, Any]) -> bool:
    """Return whether the file has all tokens that transformers would add, and all options are known."""
    added, vocabulary = spec.get("added_tokens", []), spec["model"].get("vocab")
    again = config.get("added_tokens_decoder", {str(token["id"]): token for token in added})
    return (
        all(name in _IGNORED_OPTIONS or not value for name, value in config.items())
        and isinstance(vocabulary, dict)
        and len(vocabulary) < _MAX_VOCABULARY
        and bool(spec.get("post_processor") and tokens.get("pad_token"))
        and {token for token in tokens.values() if token} <= {token["content"] for token in added if token["special"]}
        and all(vocabulary.get(token["content"]) == token["id"] for token in added)
        and sorted(({**token, "id": int(id)} for id, token in again.items()), key=_id) == sorted(added, key=_id)
    )


def _is_built_so(spec: Mapping[str, Any], config: Mapping[str, Any], tokens: Mapping[str, Any], backend: Any) -> bool:
    """Return whether the file has the tokenizer that transformers would build: the WordPiece of BERT."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
        "lowercase": config.get("do_lower_case", True),
    }
    rest = {name: value for name, value in spec["model"].items() if name != "vocab"}
    model = {
        "type": "WordPiece",
        "unk_token": tokens["unk_token"],
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    around = [spec["model"]["vocab"][tokens[name]] for name in ("cls_token", "unk_token", "sep_token")]
    return (
        spec.get("normalizer") == normalizer
        and spec.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
        and rest == model
        and backend.encode(tokens["unk_token"]).ids == around
    )


def _content(token: Any) -> Any:
    return token["content"] if isinstance(token, dict) else token


def _id(token: Mapping[str, Any]) -> int:
    return int(token["id"])
