"""A folder's tokenizer by the library `tokenizers` alone, where transformers would read it the same way.

Importing transformers takes seconds. Of the tokenizers that it knows by name it takes no more than the vocabulary out
of `tokenizer.json`, and builds the rest anew from other files; where these say otherwise, it has to be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridal.system.files import read_object, strict_json

FILE, CONFIG, SPECIAL = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
ADDED = "added_tokens.json"  # of old editions
# Every file that a tokenizer may be read from: vocabularies, merges, SentencePiece models, special tokens, options.
TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges.txt", "bpe.codes", "spiece*", "*.model", SPECIAL, ADDED)

# What transformers takes from the file as it is, and what it builds anew, with these special tokens unless told.
_AS_IT_IS = ("TokenizersBackend", "PreTrainedTokenizerFast")
_BERT = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
_MPNET = {
    "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>", "unk_token": "[UNK]",
    "pad_token": "<pad>", "mask_token": "<mask>",
}  # fmt: skip
_BUILT_ANEW = {
    "BertTokenizer": _BERT, "BertTokenizerFast": _BERT, "MPNetTokenizer": _MPNET, "MPNetTokenizerFast": _MPNET,
}  # fmt: skip
# Other encoders' tokenizers are chosen by rules that we do not know.
_ENCODERS = ("bert", "mpnet")
# What a configuration may say without any change to the tokens.
_IDLE = {
    "added_tokens_decoder", "backend", "clean_up_tokenization_spaces", "do_basic_tokenize", "do_lower_case", "is_local",
    "local_files_only", "max_length", "model_input_names", "model_max_length", "name_or_path", "never_split",
    "pad_to_multiple_of", "pad_token_type_id", "padding_side", "special_tokens_map_file", "stride", "strip_accents",
    "tokenize_chinese_chars", "tokenizer_class", "tokenizer_file", "truncation_side", "truncation_strategy", *_MPNET,
}  # fmt: skip
# Of a larger vocabulary, transformers looks whether it must mend it.
_LARGEST = 100_000


@dataclass(frozen=True)
class FastTokenizer:
    """A tokenizer that cuts texts to a length and pads nothing; `config` is what transformers is told about it."""

    backend: Any
    pad: int
    config: dict[str, Any]

    def save(self, folder: Path, max_length: int) -> None:
        """Writes what transformers loads; it, too, will cut texts to this length."""
        folder.mkdir(parents=True, exist_ok=True)
        self.backend.save(str(folder / FILE))
        told = {**self.config, "model_max_length": max_length}
        (folder / CONFIG).write_text(strict_json(told, indent=2) + "\n", encoding="utf-8")


def read_fast_tokenizer(folder: Path, max_length: int) -> FastTokenizer | None:
    """None where transformers might read it another way."""
    from tokenizers import Tokenizer

    if not all((folder / name).is_file() for name in (FILE, CONFIG, "config.json")) or (folder / ADDED).is_file():
        return None
    said, config = read_object(folder / FILE), read_object(folder / CONFIG)
    if "added_tokens_decoder" not in config and (folder / SPECIAL).is_file():
        config |= {name: _content(token) for name, token in read_object(folder / SPECIAL).items()}
    kind = str(config.get("tokenizer_class", ""))
    tokens = {name: _content(token) for name, token in (_BUILT_ANEW.get(kind, {}) | config).items() if name in _MPNET}
    encoder = read_object(folder / "config.json")  # or of a model around it, that we exported
    if encoder.get("body", encoder).get("model_type") not in _ENCODERS or not _is_whole(said, config, tokens):
        return None
    backend = Tokenizer.from_file(str(folder / FILE))
    backend.no_padding()
    backend.no_truncation()
    if kind not in _AS_IT_IS and not (kind in _BUILT_ANEW and _is_built_so(said, config, tokens, backend)):
        return None
    side = config.get("truncation_side") or (said.get("truncation") or {}).get("direction", "right").lower()
    backend.enable_truncation(max_length, direction=side)
    return FastTokenizer(backend, int(said["model"]["vocab"][tokens["pad_token"]]), config)


def _is_whole(said: Mapping[str, Any], config: Mapping[str, Any], tokens: Mapping[str, Any]) -> bool:
    """Whether the file has all that transformers would add to it, and nothing is asked for that we do not know."""
    added, vocabulary = said.get("added_tokens", []), said["model"].get("vocab")
    again = config.get("added_tokens_decoder", {str(token["id"]): token for token in added})
    return (
        all(name in _IDLE or not value for name, value in config.items())
        and isinstance(vocabulary, dict)
        and len(vocabulary) < _LARGEST
        and bool(said.get("post_processor") and tokens.get("pad_token"))
        and {token for token in tokens.values() if token} <= {token["content"] for token in added if token["special"]}
        and all(vocabulary.get(token["content"]) == token["id"] for token in added)
        and sorted(({**token, "id": int(id)} for id, token in again.items()), key=_id) == sorted(added, key=_id)
    )


def _is_built_so(said: Mapping[str, Any], config: Mapping[str, Any], tokens: Mapping[str, Any], backend: Any) -> bool:
    """Whether the file's tokenizer is the one that transformers would build: WordPiece as BERT has it."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
        "lowercase": config.get("do_lower_case", True),
    }
    rest = {name: value for name, value in said["model"].items() if name != "vocab"}
    model = {
        "type": "WordPiece",
        "unk_token": tokens["unk_token"],
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    around = [said["model"]["vocab"][tokens[name]] for name in ("cls_token", "unk_token", "sep_token")]
    return (
        said.get("normalizer") == normalizer
        and said.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
        and rest == model
        and backend.encode(tokens["unk_token"]).ids == around
    )


def _content(token: Any) -> Any:
    return token["content"] if isinstance(token, dict) else token


def _id(token: Mapping[str, Any]) -> int:
    return int(token["id"])
