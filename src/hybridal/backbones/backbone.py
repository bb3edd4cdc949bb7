"""A backbone: a local folder with a pretrained encoder and its tokenizer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybridal.backbones.catalogue import Limits, entry_of
from hybridal.backbones.exported import ABOUT, was_exported
from hybridal.backbones.sentence_files import read_pooling, read_prefix
from hybridal.backbones.text_encoder import TextEncoder
from hybridal.core.checked import matches_type
from hybridal.errors import UserError
from hybridal.system.files import read_object

# Subfolder of the encoder in older versions of sentence-transformers; the pooling is defined in the parent folder.
NESTED = "0_Transformer"

# These number positions from the id of the padding token + 1, so that the first embeddings are never used.
_COUNT_FROM_PADDING = ("roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet")

# Numbers of a configuration that fail only when texts are read, or make the check of `max_length` wrong.
_COUNTS = ("num_hidden_layers", "n_layers", "num_attention_heads", "n_heads", "max_position_embeddings")
_SPREADS = ("layer_norm_eps", "initializer_range")


@dataclass(frozen=True)
class Backbone:
    """An encoder in a local folder, in the format of transformers."""

    name: str
    folder: Path = field(compare=False)

    def __post_init__(self) -> None:
        if not (self.folder / "config.json").is_file():
            raise UserError(f"Backbone folder {self.folder} has no config.json; save an encoder there first.")
        for name, value in self._config().items():
            if (name in _COUNTS and not _is_count(value)) or (name in _SPREADS and not _is_spread(value)):
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

        sentence-transformers stores it in a file; otherwise the catalogue may know it.

        Raises:
            UserError: If it was trained with a pooling that hybridal does not have.
        """
        return self._known_pooling or "first"

    @property
    def knows_pooling(self) -> bool:
        """Whether the folder or the catalogue states the pooling; else it is guessed to be that of the first token."""
        return self._known_pooling is not None

    @property
    def _known_pooling(self) -> str | None:
        if was_exported(self.folder):
            return "mean"
        found, entry = read_pooling(self._home, self.name), entry_of(self.name)
        return found or (None if entry is None else entry.pooling)

    @property
    def prefix(self) -> str:
        """What the encoder was trained to find before every text; "" for most encoders.

        sentence-transformers stores it in a file; otherwise the catalogue may know it.
        """
        if (self.folder / ABOUT).is_file():
            return ""  # the tokenizer of an exported model inserts it already
        found, entry = read_prefix(self._home), entry_of(self.name)
        return ("" if entry is None else entry.prefix) if found is None else found

    @property
    def _home(self) -> Path:
        """Where the files of sentence-transformers lie."""
        return self.folder.parent if self.folder.name == NESTED else self.folder

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
        encoder = TextEncoder(self.folder, max_length, self.prefix)
        encoder.check()
        return encoder


def _is_count(value: Any) -> bool:
    return value is None or (matches_type(value, int) and value >= 1)


def _is_spread(value: Any) -> bool:
    return matches_type(value, float) and value >= 0
