"""Cached outputs of frozen layers, for training the top layers of an encoder only.

The outputs of the frozen layers for a text never change, so they are computed once. What is trained reads them in place
of token ids. With recorded graphs they are computed in each step: a GPU computes them faster than it is sent them.
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

from hybridal.core.outputs import Ints
from hybridal.errors import RunError
from hybridal.models.encoders.layers import Encoder
from hybridal.models.token_arrays import Tokens


class FrozenStates:
    """The frozen layers' outputs for a set of texts: a `Source` of states, each computed when it is first needed.

    They are kept in a temporary file in half precision, which is enough since they are layer-normalised. The file has
    no name, so that nothing is left behind however the process ends.
    """

    def __init__(self, encoder: Encoder, tokens: Tokens, device: Any, folder: Path) -> None:
        self._encoder, self._tokens, self._device, self._folder = encoder, tokens, device, folder
        width = encoder.width
        self._starts = np.concatenate([[0], np.cumsum(tokens.lengths(np.arange(len(tokens))))])
        self._known = np.zeros(len(tokens), dtype=bool)
        shape = (max(1, int(self._starts[-1])), width)
        with self._room():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as this object lives
            weakref.finalize(self, self._file.close)
            self._file.truncate(2 * width * shape[0])
        # Only read through the map: a write through it would kill the process if the disk is full.
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
        # One text at a time: in a batch the last digits depend on the other texts, and a resumed run has other batches.
        with torch.inference_mode(), self._room():
            for row in rows:
                ids = torch.from_numpy(self._tokens.joined(np.array([row]))).to(self._device)
                self._file.seek(2 * self._flat.shape[1] * int(self._starts[row]))
                self._file.write(self._encoder.frozen_states(ids).half().cpu().numpy().tobytes())
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
