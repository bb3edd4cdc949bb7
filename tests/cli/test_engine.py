from __future__ import annotations

from importlib.util import find_spec

import pytest

from hybridal.cli.engine import PROBES, REPORT, choose_engine
from hybridal.lab.study.engines import Here
from hybridal.lab.study.engines.lanes import Lanes
from hybridal.lab.study.engines.processes import Processes
from hybridal.lab.study.engines.ray_engine import RayEngine


def test_engine_is_built_from_the_options() -> None:
    assert choose_engine("auto", ray="head:6379", gpus_per_cell=0.5) == RayEngine("head:6379", gpus_per_cell=0.5)
    assert choose_engine("cpu", ray="local") == RayEngine("local")
    assert isinstance(choose_engine("cpu", 1), Here)
    assert choose_engine("cpu", 3) == Processes([Lanes("cpu", 1)] * 3)


def test_each_gpu_has_its_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert choose_engine("auto") == Processes([Lanes("cuda:0"), Lanes("cuda:1")])
    assert choose_engine("cuda", 3) == Processes([Lanes("cuda:0", 2), Lanes("cuda:1", 1)])
    assert choose_engine("cuda", 1) == Lanes("cuda:0", 1)
    assert choose_engine("cuda:1", 8) == Lanes("cuda:1", 8)
    assert choose_engine("cuda:1", 9, 2) == Processes([Lanes("cuda:1", 5), Lanes("cuda:1", 4)])
    assert choose_engine("cuda:1", processes_per_gpu=3) == Processes([Lanes("cuda:1", sharers=3)] * 3)
    assert choose_engine("cuda:1", processes_per_gpu=1) == Lanes("cuda:1")
    assert choose_engine("cpu", 2) == Processes([Lanes("cpu", 1)] * 2)


def test_modules_imported_early_exist() -> None:
    """A missing module would be skipped without a message."""
    assert all(map(find_spec, (*PROBES, *REPORT)))
