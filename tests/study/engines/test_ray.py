from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridal.errors import RunError
from hybridal.study.engines.ray import RayEngine
from hybridal.study.folder import StudyFolder

from .small import begun, facts, once, rounds, run, small_study

ray = pytest.importorskip("ray")

DRIVER = """
import sys
from pathlib import Path
from hybridal.study.engines.ray import RayEngine
from hybridal.study.folder import StudyFolder
from hybridal.study.run import run_study

run_study(StudyFolder.open(Path(sys.argv[2])), RayEngine(sys.argv[1]))
"""


class TwoNodes:
    """A cluster of two machines with a core each, both this one; the driver lives on the first."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.1"}, shutdown_at_exit=False
        )
        self.second: Any = None
        self.mend()
        self.address = str(self.cluster.address)

    def mend(self) -> None:
        if self.second is None:
            self.second = self.cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")

    def lose_one(self) -> None:
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = None


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    from ray._private import ray_constants

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", False)
        two = TwoNodes()
        ray.init(address=two.address, log_to_driver=False)
        yield two
        ray.shutdown()
        two.cluster.shutdown()


@pytest.mark.ray
def test_the_same_facts_as_in_one_process_and_failures_do_not_spread(
    nodes: TwoNodes, task: dict[str, str], here: StudyFolder, tmp_path: Path
) -> None:
    folder = begun(tmp_path / "study", small_study(task, acquisitions=("entropy", "no-such-thing")))
    outcomes = run(folder, RayEngine(nodes.address))
    sound, broken = folder.cells[:2], folder.cells[2:]
    assert [outcomes[cell.key].error for cell in sound] == [None, None]
    assert facts(here).items() <= facts(folder).items()
    for cell in broken:
        error = outcomes[cell.key].error
        assert error is not None
        assert "Traceback" in error
        assert "no-such-thing" in error
        assert folder.error(cell) == error
    for cell in folder.cells:
        with folder.working_on(cell):  # nobody holds it any more
            pass


@pytest.mark.ray
def test_a_driver_that_is_killed_loses_nothing(nodes: TwoNodes, task: dict[str, str], tmp_path: Path) -> None:
    long = small_study(task, overrides={"rounds": 12}, schedules=("retrain",))
    folder = begun(tmp_path / "study", long)
    with subprocess.Popen([sys.executable, "-c", DRIVER, nodes.address, str(folder.path)]) as driver:
        with once(lambda: all(rounds(folder, cell) for cell in folder.cells), driver.kill):
            assert driver.wait() == -signal.SIGKILL
    known = facts(folder)
    assert all(0 < len(found) < 12 for found in known.values())
    outcomes = run(folder, RayEngine(nodes.address))
    assert [outcome.error for outcome in outcomes.values()] == [None, None]
    after = facts(folder)
    assert all(len(after[key]) == 12 and known[key].items() <= after[key].items() for key in after)


@pytest.mark.ray
def test_a_second_driver_is_told_who_works_there(nodes: TwoNodes, task: dict[str, str], tmp_path: Path) -> None:
    folder = begun(tmp_path / "study", small_study(task))
    with folder.working_on(folder.cells[1]), pytest.raises(RunError, match=f"in use by process {os.getpid()}"):
        run(folder, RayEngine(nodes.address))
    assert facts(folder) == {cell.key: {} for cell in folder.cells}


@pytest.mark.ray
def test_a_lost_node_loses_nothing(nodes: TwoNodes, task: dict[str, str], tmp_path: Path) -> None:
    nodes.mend()
    long = small_study(task, overrides={"rounds": 12}, schedules=("retrain",), seeds=(1, 2, 3))
    folder = begun(tmp_path / "study", long)
    before: list[int] = []

    def lose() -> None:
        nodes.lose_one()
        before.extend(rounds(folder, cell) for cell in folder.cells)

    with once(lambda: sum(rounds(folder, cell) > 0 for cell in folder.cells) == 2, lose):
        outcomes = run(folder, RayEngine(nodes.address))
    assert all(found < 12 for found in before)
    assert [outcome.error for outcome in outcomes.values()] == [None] * 3
    assert all(len(found) == 12 for found in facts(folder).values())
