"""A queue of projects that share a few trainer slots, each slot with its own cores or GPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

Slot = Mapping[str, str]
"""Environment variables that tell a trainer which processors it may use."""

CORES_PER_TRAINER = 4


class TrainerQueue:
    """First come, first served; a project that joins again goes to the end of the queue.

    >>> queue = TrainerQueue()
    >>> queue.join("mail"), queue.join("news"), queue.take("mail"), queue.take("news")
    (None, None, {}, None)
    >>> queue.before("news"), queue.crowded
    (['mail'], True)
    >>> queue.leave("mail")
    >>> queue.take("news")
    {}
    """

    def __init__(self, slots: Sequence[Slot] = ({},)) -> None:
        self._free = list(slots)
        self._working: dict[str, Slot] = {}
        self._line: list[str] = []
        self._lock = threading.Lock()

    @property
    def crowded(self) -> bool:
        """Whether a project waits for a slot."""
        return bool(self._line) and not self._free

    def join(self, name: str) -> None:
        """Enter the queue; a project that is in it keeps its position."""
        with self._lock:
            if name not in self._line and name not in self._working:
                self._line.append(name)

    def take(self, name: str) -> Slot | None:
        """Return a slot if the project is first in the queue and one is free, otherwise None."""
        with self._lock:
            if not self._free or self._line[:1] != [name]:
                return None
            self._line.remove(name)
            slot = self._working[name] = self._free.pop(0)
            return slot

    def leave(self, name: str) -> None:
        """Give the slot back, or leave the queue."""
        with self._lock:
            if name in self._line:
                self._line.remove(name)
            if name in self._working:
                self._free.append(self._working.pop(name))

    def before(self, name: str) -> list[str]:
        """The projects that this one waits for: those with a slot, and those that joined earlier."""
        with self._lock:
            return [*self._working, *self._line[: self._line.index(name)]] if name in self._line else []


def trainer_slots(trainers: int | None = None) -> list[Slot]:
    """Divide the machine into slots: by default one per GPU, or one per four cores without a GPU.

    One core stays free for the web process, and no two trainers share a core.

    Args:
        trainers: How many slots to make instead.
    """
    gpus, cores = _gpus(), os.cpu_count() or 1
    many = trainers or len(gpus) or max(1, cores // CORES_PER_TRAINER)
    threads = os.environ.get("OMP_NUM_THREADS", str(max(1, (cores - 1) // many)))
    given = [{"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} if gpus else {} for number in range(many)]
    return [{"OMP_NUM_THREADS": threads, **one} for one in given]


def _gpus() -> list[str]:
    """The names of the GPUs for CUDA, found without importing torch."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
