"""Where the arithmetic happens, and in which precision."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch

from hybridal.errors import UserError
from hybridal.models.process_settings import make_deterministic

# Values of oneDNN's variable that exclude the instructions for bfloat16.
WITHOUT_BFLOAT16 = ("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI")


@dataclass(frozen=True)
class Device:
    """A torch device and its precision.

    Attributes:
        kind: As in `torch.device`.
        precision: "fp32", or "bf16" for matrix products in bfloat16 with weights in float32. On a processor, only our
            own encoders know bf16.
        fast: Use the fast paths: packed texts on a processor, recorded graphs on a GPU.
    """

    kind: str
    precision: str
    fast: bool = True

    @property
    def torch(self) -> Any:
        return torch.device(self.kind)

    @property
    def rounds_operands(self) -> bool:
        """Whether linear layers round their operands themselves (`encoders.rounded_linear`): bf16 on a processor."""
        return self.precision == "bf16" and self.torch.type == "cpu"

    @property
    def matmul_dtype(self) -> Any:
        """The precision as an argument of `encoders.layers.Build`; other than float32 only where autocast is used."""
        return torch.float32 if self.precision == "fp32" or self.rounds_operands else torch.bfloat16

    def synchronise(self) -> None:
        """Wait for the work that this thread launched, so that a clock shows its time."""
        if self.torch.type == "cuda":
            torch.cuda.current_stream(self.torch).synchronize()
        elif self.torch.type == "mps":
            torch.mps.synchronize()

    @property
    def description(self) -> str:
        """The name of a GPU, or the kind; a processor's precision is part of it, because results depend on it."""
        if self.torch.type == "cuda":
            return str(torch.cuda.get_device_name(self.torch))
        return f"{self.torch.type} in bf16" if self.rounds_operands else self.torch.type


def choose_device(wanted: str = "auto", precision: str = "auto", plain: bool = False) -> Device:
    """The requested device, or the best there is.

    Args:
        wanted: auto, cpu, cuda, cuda:N or mps. `auto` never takes Apple's GPU (mps).
        precision: "auto" uses bf16 where it is faster (a GPU or a processor with instructions for it), else "fp32".
        plain: Do without the fast paths: slower, and easier to debug. `mps` always does.

    Returns:
        The device; a CUDA device makes torch deterministic (`process_settings.py`).

    Raises:
        UserError: If there is no such device.

    >>> choose_device("cpu", precision="fp32")
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
    fast = not plain and kind != "mps"
    supported = torch.cuda.is_bf16_supported() if kind == "cuda" else fast and kind == "cpu" and multiplies_bfloat16()
    return Device(wanted, "bf16" if precision == "auto" and supported else "fp32", fast)


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for products of bfloat16 (AVX512-BF16 or AMX), and oneDNN may use them.

    Otherwise oneDNN emulates the products, which takes longer than float32.
    """
    allowed = os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper() not in WITHOUT_BFLOAT16
    supported: bool = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return allowed and supported and torch.backends.mkldnn.is_available()


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
