"""`python -m hybridal.app.trainer PROJECT`: trains a project's model until it is ended."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from hybridal.app.project import Project
from hybridal.app.trainer.cycle import AWAY, Cycle
from hybridal.app.trainer.lifetime import alone, end_with_parent

PAUSE = 0.25  # seconds between two looks
LATER = 5.0  # seconds until a database that is away is asked again
log = logging.getLogger(__name__)


def main(folder: Path) -> None:
    """Works on a project for as long as the process lives."""
    end_with_parent()
    os.nice(10)  # people who label come first
    project = Project.open(folder)
    with alone(folder):
        _share_the_machine()
        while True:
            try:
                work(Cycle(project))
            except AWAY:
                log.exception("The database is away.")
                time.sleep(LATER)


def work(cycle: Cycle) -> None:
    """Turns and turns; only an error ends it."""
    cycle.start()
    while True:
        if not cycle.turn() and not cycle.prepare():
            rest()


def rest() -> None:
    """There is nothing to do just now."""
    time.sleep(PAUSE)


def _share_the_machine() -> None:
    """One core stays free for the pages, where there is more than one."""
    import torch

    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    main(Path(sys.argv[1]))
