"""Choose the engine of a study from the options and the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hybridal.errors import UserError
from hybridal.system.background_imports import import_in_thread, import_later

if TYPE_CHECKING:
    from hybridal.lab.study.engines import Engine
    from hybridal.lab.study.engines.lanes import Lanes

PROBES = ("scipy.optimize",)
REPORT = ("hybridal.reports.figure_kit", "pandas", "fontTools.subset", "jinja2")
# Seconds: imports for the report start after a study has imported, loaded and recorded.
REPORT_IMPORT_DELAY = 15.0


def choose_engine(
    device: str,
    workers: int | None = None,
    processes_per_gpu: int | None = None,
    ray: str | None = None,
    gpus_per_cell: float | None = None,
) -> Engine:
    """Return Ray if requested, lanes if there are GPUs, this process if one is enough, else several processes."""
    import os

    from hybridal.lab.study.engines import Here
    from hybridal.lab.study.engines.lanes import Lanes
    from hybridal.lab.study.engines.processes import Processes, prepare

    if ray is not None:
        from hybridal.lab.study.engines.ray_engine import RayEngine

        if workers is not None:
            raise UserError("--workers counts cells at once here; leave it out with --ray, which has its own count.")
        if processes_per_gpu is not None:
            raise UserError("--processes-per-gpu is for GPUs of this machine; with --ray, give --gpus-per-cell.")
        return RayEngine(ray, gpus_per_cell)
    if gpus_per_cell is not None:
        raise UserError("--gpus-per-cell is for cells on a Ray cluster; give --ray ADDRESS too, or use --workers.")
    for name, count in (("--workers", workers), ("--processes-per-gpu", processes_per_gpu)):
        if count is not None and count < 1:
            raise UserError(f"{name} must be at least 1, not {count}.")
    count = workers or os.cpu_count() or 1
    if (processes_per_gpu or 1) > 1 or (device == "cpu" and count > 1):
        prepare()  # a child process imports torch at the same time as this one
    if gpus := gpus_of(device):
        lanes = lanes_of(gpus, workers, processes_per_gpu)
    elif processes_per_gpu is not None:
        raise UserError(f"--processes-per-gpu needs a GPU, and device {device} has none here; use --workers.")
    elif count == 1:
        return Here()
    else:
        lanes = [Lanes(device, 1)] * count
    if len(lanes) == 1:
        return lanes[0]
    prepare()
    return Processes(lanes)


def lanes_of(gpus: Sequence[str], workers: int | None, processes_per_gpu: int | None) -> list[Lanes]:
    """Return the lanes of each process; `workers` are distributed evenly."""
    from hybridal.lab.study.engines.lanes import Lanes

    sharers = processes_per_gpu or 1
    places = [gpu for _ in range(sharers) for gpu in gpus]
    if workers is None:
        return [Lanes(place, sharers=sharers) for place in places]
    shares = [len(range(first, workers, len(places))) for first in range(len(places))]
    return [Lanes(place, share) for place, share in zip(places, shares, strict=True) if share]


def gpus_of(device: str) -> list[str]:
    """Return the GPUs of this machine that a study on this device may use."""
    import_in_thread("torch", PROBES)
    import_later(REPORT, REPORT_IMPORT_DELAY)
    import torch

    if device in ("auto", "cuda"):
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return [device] if device.startswith("cuda") else []
