"""Convert texts to token ids with the tokenizer of an encoder's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

from hybridal.backbones.beginnings import encode_beginnings, reads_word_by_word
from hybridal.backbones.tokenizer import FILE, TOKENIZER_FILES, FastTokenizer, read_fast_tokenizer
from hybridal.errors import UserError, reason
from hybridal.system.files import read_object, write_whole

# transformers imports lazily and is not thread-safe while it does: a second thread finds half-initialised modules.
LOADING = RLock()
# What transformers needs to read a SentencePiece model, by module.
_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}


@dataclass(frozen=True)
class TextEncoder:
    """Converts texts to token ids, with special tokens, truncation and the encoder's prefix, if it has one."""

    folder: Path
    max_length: int
    prefix: str = ""

    @cached_property
    def key(self) -> str:
        """Hash of the tokenizer files, the length and the prefix, for caches."""
        digest = hashlib.sha256(str(self.max_length).encode())
        if self.prefix:
            digest.update(b"\0" + self.prefix.encode("utf-8", "surrogatepass") + b"\0")
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
            if self.prefix:
                return _prefixed_tokenizer(self.folder, self.max_length, self.prefix, self.key)
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
            if missing := _missing_for_sentencepiece(self.folder):
                raise UserError(
                    f"The tokenizer in {self.folder} is a SentencePiece model without a tokenizer.json, which needs "
                    f"other packages; `pip install {' '.join(missing)}`, or save the tokenizer there."
                ) from error
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


def _missing_for_sentencepiece(folder: Path) -> list[str]:
    """Packages that are missing to read a tokenizer of which there is only the SentencePiece model."""
    models = [path for path in tokenizer_files(folder) if path.suffix == ".model"]
    if not models or (folder / FILE).is_file():
        return []
    return [package for module, package in _SENTENCEPIECE.items() if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that the module belongs to
        return False


def tokenizer_files(folder: Path) -> list[Path]:
    """Return all files that the tokenizer may be read from, sorted."""
    return sorted({path for pattern in TOKENIZER_FILES for path in folder.glob(pattern) if path.is_file()})


@lru_cache(maxsize=2)
def _fast_tokenizer(folder: Path, max_length: int, _key: str) -> FastTokenizer | None:
    """Cache the tokenizer for the cells of a study; the key changes if the files do."""
    return read_fast_tokenizer(folder, max_length)


@lru_cache(maxsize=2)
def _prefixed_tokenizer(folder: Path, max_length: int, prefix: str, key: str) -> FastTokenizer:
    """Load a tokenizer that inserts the prefix; transformers may have to build it first."""
    fast = read_fast_tokenizer(folder, max_length)
    if fast is None:
        with LOADING:
            fast = FastTokenizer.of(_tokenizer(folder, key), max_length)
    if fast is None:
        raise UserError(
            f"The tokenizer in {folder} cannot put the prefix {prefix!r} before texts, because it is not one of the "
            "library `tokenizers`; choose another backbone."
        )
    return fast.with_prefix(prefix, folder)


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
