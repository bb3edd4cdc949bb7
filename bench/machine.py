"""The machine of the measurements."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import hybridal


def describe() -> dict[str, str | int]:
    """The processor, its cores, the memory and the versions that matter."""
    import torch

    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "hybridal": hybridal.__version__,
    }


def _processor() -> str:
    """The processor's name from Linux, elsewhere from Python."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
