"""The layers below those that are trained: their outputs for a text never change, so they are computed once and kept.

What is trained sees those outputs in place of token ids, and runs alone. In the recorded steps of a GPU they stay where
they are: it computes them again sooner than it could be sent what they said.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hybridal.core.outputs import Ints
from hybridal.errors import RunError, UserError
from hybridal.models.encoders.packing import OWN_ATTENTION, familiar, layer_stack
from hybridal.models.token_arrays import Tokens


def freeze(module: Any, top: int) -> list[Any]:
    """All below the `top` layers: the embeddings, then the other layers. They no longer learn, nor drop anything."""
    base = module.base_model
    known = familiar(module) and module.config.model_type not in OWN_ATTENTION
    if not known or hasattr(base, "embeddings_project"):
        raise UserError(
            "`train_layers` does not know the layers of this kind of backbone; leave it out.",
            field="protocol.train_layers",
        )
    layers: Any = layer_stack(module).layer
    if top > len(layers):
        raise UserError(
            f"`train_layers` {top} is more than the {len(layers)} layers of this backbone.",
            field="protocol.train_layers",
        )
    return [part.requires_grad_(False).eval() for part in (base.embeddings, *layers[: len(layers) - top])]


class Trunk:
    """The lower part of an encoder, taken out of it. `top` layers stay, with all that is above them."""

    def __init__(self, module: Any, top: int) -> None:
        self._base = module.base_model
        self._embeddings, *self._lower = freeze(module, top)
        self._layers: Any = layer_stack(module).layer
        self._take_out()

    def __call__(self, ids: Tensor) -> Tensor:
        """What the lower layers make of one text."""
        states: Tensor = self._embeddings(input_ids=ids[None])
        for layer in self._lower:
            states = layer(states)
        return states[0]

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """The whole encoder, inside."""
        self._base.embeddings = self._embeddings
        for number, layer in enumerate(self._lower):
            self._layers[number] = layer
        try:
            yield
        finally:
            self._take_out()

    def _take_out(self) -> None:
        self._base.embeddings = _Given()
        for number in range(len(self._lower)):
            self._layers[number] = _Skip()


class States:
    """The trunk's outputs for a set of texts, each computed when it is first needed and kept in a file.

    Half precision: they are layer-normalised, and half the disk is a longer pool. The file has no name, so that
    nothing is left behind however the process ends.
    """

    def __init__(self, trunk: Trunk, tokens: Tokens, width: int, device: Any, folder: Path) -> None:
        self._trunk, self._tokens, self._device, self._folder = trunk, tokens, device, folder
        self._starts = np.concatenate([[0], np.cumsum(tokens.lengths(np.arange(len(tokens))))])
        self._known = np.zeros(len(tokens), dtype=bool)
        shape = (max(1, int(self._starts[-1])), width)
        with self._room():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as we are
            weakref.finalize(self, self._file.close)
            self._file.truncate(2 * width * shape[0])
        # Only read through the map: a write that finds the disk full would end the process without a word.
        self._flat: Any = np.memmap(self._file, dtype=np.float16, mode="r", shape=shape)

    def lengths(self, rows: Ints) -> Ints:
        return self._tokens.lengths(rows)

    def batch(self, rows: Ints) -> tuple[NDArray[Any], Ints]:
        """States and attention mask, padded to the longest row."""
        lengths = self.lengths(rows)
        mask = np.arange(lengths.max())[None, :] < lengths[:, None]
        values = np.zeros((*mask.shape, self._flat.shape[1]), dtype=np.float32)
        values[mask] = self.joined(rows)
        return values, mask.astype(np.int64)

    def joined(self, rows: Ints) -> NDArray[np.float32]:
        """The states of these rows, one after the other."""
        self._compute(rows[~self._known[rows]])
        spans = [self._flat[self._starts[row] : self._starts[row + 1]] for row in rows]
        return np.concatenate(spans).astype(np.float32)

    def _compute(self, rows: Ints) -> None:
        # Each text by itself: its last digits would tell which texts were beside it, and a run that is resumed
        # computes its texts in another company.
        with torch.inference_mode(), self._room():
            for row in rows:
                ids = torch.from_numpy(self._tokens.joined(np.array([row]))).to(self._device)
                self._file.seek(2 * self._flat.shape[1] * int(self._starts[row]))
                self._file.write(self._trunk(ids).half().cpu().numpy().tobytes())
            self._file.flush()
        self._known[rows] = True

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(
                f"The outputs of the frozen layers could not be kept in {self._folder} ({error}); all recorded rounds "
                "are safe. Make room, or name another folder with HYBRIDAL_CACHE, then run `hybridal resume`."
            ) from error


class _Given(nn.Module):  # type: ignore[misc]
    """In place of the embeddings: hands on what it is given."""

    def forward(self, *given: Any, **named: Any) -> Tensor:
        return next(x for x in (*given, *named.values()) if isinstance(x, Tensor) and x.is_floating_point())


class _Skip(nn.Module):  # type: ignore[misc]
    """In place of a layer: changes nothing."""

    def forward(self, hidden_states: Tensor, *_: Any, **__: Any) -> Tensor:
        return hidden_states
