"""Where the arithmetic happens, and in which precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hybridal.errors import UserError
from hybridal.models.process_settings import make_deterministic


@dataclass(frozen=True)
class Device:
    """A torch device and its precision.

    Attributes:
        kind: As in `torch.device`.
        precision: "fp32", or "bf16" for matrix products in bfloat16 with weights in float32.
        fast: Use the fast paths: packed texts on a processor, recorded graphs on a GPU.
    """

    kind: str
    precision: str
    fast: bool = True

    @property
    def torch(self) -> Any:
        return torch.device(self.kind)

    @property
    def matmul_dtype(self) -> Any:
        """The precision as an argument of `encoders.layers.Build`."""
        return torch.float32 if self.precision == "fp32" else torch.bfloat16

    def synchronise(self) -> None:
        """Wait for the work that this thread launched, so that a clock shows its time."""
        if self.torch.type == "cuda":
            torch.cuda.current_stream(self.torch).synchronize()
        elif self.torch.type == "mps":
            torch.mps.synchronize()

    @property
    def description(self) -> str:
        return str(torch.cuda.get_device_name(self.torch)) if self.torch.type == "cuda" else self.torch.type


def choose_device(wanted: str = "auto", precision: str = "auto", plain: bool = False) -> Device:
    """The requested device, or the best there is.

    Args:
        wanted: auto, cpu, cuda, cuda:N or mps. `auto` never takes Apple's GPU (mps).
        precision: "auto" uses bf16 where it is faster, else "fp32".
        plain: Do without the fast paths: slower, and easier to debug. `mps` always does.

    Returns:
        The device; a CUDA device makes torch deterministic (`process_settings.py`).

    Raises:
        UserError: If there is no such device.

    >>> choose_device("cpu")
    Device(kind='cpu', precision='fp32', fast=True)
    """
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(wanted).type
    except RuntimeError:
        kind = "unknown"
    if kind not in ("cpu", "cuda", "mps"):
        raise UserError(
            f"`device` '{wanted}' is not a device to train on; use cpu, cuda, cuda:N or mps.", field="device"
        )
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there[kind]:
        raise UserError(
            f"`device` {kind} was asked for, but torch sees no such GPU here; use `device=cpu`.", field="device"
        )
    if kind == "cuda":
        count = torch.cuda.device_count()
        if (torch.device(wanted).index or 0) >= count:
            raise UserError(f"`device` {wanted}: this machine has {count} GPU(s), counted from 0.", field="device")
        make_deterministic()
    mixed = precision == "auto" and kind == "cuda" and torch.cuda.is_bf16_supported()
    return Device(wanted, "bf16" if mixed else "fp32", fast=not plain and kind != "mps")


def ready_for_threads(device: str, strictly: bool) -> None:
    """Do what torch does once per process, before several threads do it at the same time.

    Torch loads its linear algebra library at the first call, which fails if two threads make that call.
    """
    chosen = choose_device(device)
    if chosen.torch.type == "cuda":
        make_deterministic(strictly)
    square = torch.eye(4, dtype=torch.float64, device=chosen.torch)
    torch.linalg.eigvalsh(square)
    torch.linalg.svdvals(square)
    chosen.synchronise()
