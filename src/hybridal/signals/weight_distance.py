"""The distance that the weights moved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.errors import UserError
from hybridal.signals import ModelView, Signal, Snapshot

if TYPE_CHECKING:
    import torch

NUMBERS_PER_BLOCK = 2**20


@dataclass(frozen=True)
class WeightDistance(Signal):
    """The L2 distance of all trainable parameters between two rounds, θ_t and θ_{t-1}.

    Its snapshot is as large as the model, and stays on the model's GPU.

    >>> before = {"weight": np.array([1.0, 2.0]), "bias": np.array(0.0)}
    >>> WeightDistance().change(before, {"weight": np.array([1.0, 5.0]), "bias": np.array(4.0)})
    5.0
    """

    name: ClassVar[str] = "weight-distance"
    title: ClassVar[str] = "‖Δθ‖"
    settled: ClassVar[str] = "the weights {have}changed by less than {size}"
    looks_at: ClassVar[str] = "weights"
    epsilon: ClassVar[float] = 0.5 * 1.5503607  # half the published normaliser, as in the signal ablation
    patience: ClassVar[int] = 3
    is_level: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        return {name: _copy(parameter.detach()) for name, parameter in model.weights().items()}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        shapes = [{name: array.shape for name, array in snapshot.items()} for snapshot in (before, now)]
        if shapes[0] != shapes[1]:
            raise UserError("The signal 'weight-distance' needs the same parameters in both rounds; watch another.")
        if any(not isinstance(values, np.ndarray) for values in now.values()):
            return math.sqrt(_squared_distance_on_device(before, now))
        return math.sqrt(sum(squared_distance(before[name], now[name]) for name in now))


def squared_distance(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The squared L2 distance of two arrays, summed in double precision, block by block to spare memory.

    >>> squared_distance(np.array([1.0, 2.0]), np.array([4.0, 6.0]))
    25.0
    """
    one, other = one.ravel(), other.ravel()
    total = 0.0
    for start in range(0, one.size, NUMBERS_PER_BLOCK):
        block = slice(start, start + NUMBERS_PER_BLOCK)
        moved = np.subtract(one[block], other[block], dtype=np.float64)
        total += float(moved @ moved)
    return total


def _squared_distance_on_device(before: Snapshot, now: Snapshot) -> float:
    """As `squared_distance` over all arrays, on their device; a snapshot from disk is copied there."""
    import torch

    moved = (values.double() - torch.as_tensor(before[name]).to(values.device) for name, values in now.items())
    return float(sum(torch.stack([part.square().sum() for part in moved]).tolist()))


def _copy(parameter: torch.Tensor) -> Any:
    """A copy of the parameter; bfloat16 becomes float32, since numpy has no bfloat16."""
    import torch

    kept = torch.float64 if parameter.dtype == torch.float64 else torch.float32
    if parameter.is_cuda:
        return parameter.to(kept, copy=True)
    return parameter.to("cpu", kept, copy=True).numpy()
