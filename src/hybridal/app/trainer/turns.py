"""Projects take turns: so many trainers work at a time, each in a place of its own, and the others stand in line."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

Place = Mapping[str, str]
"""What the environment of a trainer says about the processors it may use."""

CORES_EACH = 4


class Turns:
    """Who comes first is served first, and who comes again stands behind all others: so everybody gets their turn.

    >>> turns = Turns()
    >>> turns.join("mail"), turns.join("news"), turns.take("mail"), turns.take("news")
    (None, None, {}, None)
    >>> turns.before("news"), turns.crowded
    (['mail'], True)
    >>> turns.leave("mail")
    >>> turns.take("news")
    {}
    """

    def __init__(self, places: Sequence[Place] = ({},)) -> None:
        self._free = list(places)
        self._working: dict[str, Place] = {}
        self._line: list[str] = []
        self._lock = threading.Lock()

    @property
    def crowded(self) -> bool:
        """Whether anybody waits for a place."""
        return bool(self._line) and not self._free

    def join(self, name: str) -> None:
        """Stands in line; who does already keeps their place in it."""
        with self._lock:
            if name not in self._line and name not in self._working:
                self._line.append(name)

    def take(self, name: str) -> Place | None:
        """The place in which to work now, for whoever is first in line; None: not yet."""
        with self._lock:
            if not self._free or self._line[:1] != [name]:
                return None
            self._line.remove(name)
            place = self._working[name] = self._free.pop(0)
            return place

    def leave(self, name: str) -> None:
        """Gives the place back, or no longer waits for one."""
        with self._lock:
            if name in self._line:
                self._line.remove(name)
            if name in self._working:
                self._free.append(self._working.pop(name))

    def before(self, name: str) -> list[str]:
        """For whom it waits: those at work, and those who came earlier; nobody where it does not stand in line."""
        with self._lock:
            return [*self._working, *self._line[: self._line.index(name)]] if name in self._line else []


def places(trainers: int | None = None) -> list[Place]:
    """A place for each trainer that may work at the same time: by default one a GPU, else one for every four cores.

    One core stays free for the pages, and no two trainers share one of the others.
    """
    gpus, cores = _gpus(), os.cpu_count() or 1
    many = trainers or len(gpus) or max(1, cores // CORES_EACH)
    threads = os.environ.get("OMP_NUM_THREADS", str(max(1, (cores - 1) // many)))
    given = [{"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} if gpus else {} for number in range(many)]
    return [{"OMP_NUM_THREADS": threads, **one} for one in given]


def _gpus() -> list[str]:
    """Their names for CUDA, found without torch."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
