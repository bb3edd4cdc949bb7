"""Where the arithmetic happens, and in which precision."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch

from hybridal.errors import UserError

_SWITCHING = Lock()


@dataclass(frozen=True)
class Device:
    """A torch device and the precision that it computes in: `bf16` is autocast, with weights in fp32.

    `fast` takes the fast paths: texts without padding on a processor, recorded graphs on a GPU.
    """

    kind: str
    precision: str
    fast: bool = True

    @property
    def torch(self) -> Any:
        return torch.device(self.kind)

    def autocast(self) -> AbstractContextManager[Any]:
        if self.precision == "fp32":
            return nullcontext()
        mixed: AbstractContextManager[Any] = torch.autocast(self.torch.type, dtype=torch.bfloat16)
        return mixed

    def synchronise(self) -> None:
        """Waits for the work that this thread launched, so that a clock read here is true."""
        if self.torch.type == "cuda":
            torch.cuda.current_stream(self.torch).synchronize()
        elif self.torch.type == "mps":
            torch.mps.synchronize()

    @property
    def description(self) -> str:
        return str(torch.cuda.get_device_name(self.torch)) if self.torch.type == "cuda" else self.torch.type


def choose_device(wanted: str = "auto", precision: str = "auto", plain: bool = False) -> Device:
    """The device that was asked for, or the best there is; mixed precision only where it is faster.

    `plain` leaves the fast paths out: slower, and easier to look into. Apple's GPU, `mps`, has no other, and is taken
    only where it is asked for.

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
        repeatable()
    mixed = precision == "auto" and kind == "cuda" and torch.cuda.is_bf16_supported()
    return Device(wanted, "bf16" if mixed else "fp32", fast=not plain and kind != "mps")


def repeatable(strictly: bool = False) -> None:
    """The same run twice gives the same bits: kernels that add up in random order are not used.

    Where there is no other, torch warns; `strictly`, it refuses, and attention takes its orderly kernels too. Switches
    of the whole process: they are only ever tightened, since another thread may compute or record under them.
    """
    with _SWITCHING:
        orderly = torch.are_deterministic_algorithms_enabled()
        if orderly and not (strictly and torch.is_deterministic_algorithms_warn_only_enabled()):
            return
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cuda.enable_cudnn_sdp(False)
        # As `use_deterministic_algorithms`, which first imports torch's compiler, for seconds.
        torch.set_deterministic_debug_mode("error" if strictly else "warn")
        # Comes with the line above: all memory is filled before it is written, which takes a fifth of a step.
        torch.utils.deterministic.fill_uninitialized_memory = False


def ready_for_threads(device: str, strictly: bool) -> None:
    """Does what torch does once a process, before there are threads that would do it at the same time.

    Linear algebra is a library of its own that torch loads at the first call, and fails when two threads make it.
    """
    chosen = choose_device(device)
    if chosen.torch.type == "cuda":
        repeatable(strictly)
    square = torch.eye(4, dtype=torch.float64, device=chosen.torch)
    torch.linalg.eigvalsh(square)
    torch.linalg.svdvals(square)
    chosen.synchronise()
