from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hybridal.backbones import Backbone, load_backbone
from hybridal.core.observer import Observer
from hybridal.lab.study.engines import CellOutcome, lanes
from hybridal.lab.study.engines.lanes import MAX_LANES, Lanes, lanes_here, lanes_that_fit
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.models import classifier, device
from hybridal.models.encoders.layers import Build
from hybridal.models.loading import load_module
from hybridal.runs.settings import Settings
from hybridal.signals import SIGNALS

from .engine_studies import begun, recorded_rounds, run, small_study


def test_cells_side_by_side_do_not_disturb_each_other(task: dict[str, str], here: StudyFolder, tmp_path: Path) -> None:
    folder = begun(tmp_path / "study", small_study(task, acquisitions=("entropy", "no-such-thing")))
    outcomes = run(folder, Lanes("cpu", 4))
    assert recorded_rounds(here).items() <= recorded_rounds(folder).items()
    failed = [outcome.error or "" for outcome in outcomes.values() if outcome.error]
    assert len(failed) == 2
    assert all("no-such-thing" in error for error in failed)


def test_the_next_cell_of_a_lane_reuses_the_loaded_classifier(
    task: dict[str, str], here: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []

    def load(
        backbone: Backbone, classes: Sequence[str], seed: int, pooling: str, build: Build
    ) -> tuple[Any, list[str]]:
        loaded.append(seed)
        return load_module(backbone, classes, seed, pooling, build)

    monkeypatch.setattr(classifier, "load_module", load)
    folder = begun(tmp_path / "study", small_study(task))
    run(folder, Lanes("cpu", 1))
    assert recorded_rounds(folder) == recorded_rounds(here)
    assert loaded == [1]


def test_lanes_release_their_classifiers_at_the_end(
    task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[weakref.ref[Any]] = []

    def load(*make: Any) -> tuple[Any, list[str]]:
        module, missing = load_module(*make)
        module.ring = [module]  # as it holds itself through its graphs
        made.append(weakref.ref(module))
        return module, missing

    monkeypatch.setattr(classifier, "load_module", load)
    run(begun(tmp_path / "study", small_study(task, seeds=(1,), schedules=("retrain",))), Lanes("cpu", 1))
    assert [module() for module in made] == [None]


def test_memory_of_a_finished_cell_is_freed(here: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[weakref.ref[Ring]] = []

    def work(_folder: StudyFolder, cell: CellPlan, _device: str, _observer: Observer) -> CellOutcome:
        left.append(weakref.ref(Ring()))
        return CellOutcome(cell.key)

    monkeypatch.setattr(lanes, "work", work)
    cells: Any = [SimpleNamespace(key=key, settings=Settings("toy")) for key in ("a", "b", "c")]
    assert {outcome.key for outcome in Lanes("cpu", 1).run(here, cells)} == {"a", "b", "c"}
    assert [ring() for ring in left] == [None] * 3


class Ring:
    """Refers to itself, as a classifier does through its graphs."""

    def __init__(self) -> None:
        self.me = self


def test_a_study_that_is_stopped_does_not_finish_its_cells_first(
    here: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs: list[int] = []

    def work(_folder: StudyFolder, cell: CellPlan, _device: str, observer: Observer) -> CellOutcome:
        for epoch in range(500 if cell.key == "long" else 0):
            epochs.append(epoch)
            time.sleep(0.01)
            observer.epoch_done(epoch, 500)
        return CellOutcome(cell.key)

    monkeypatch.setattr(lanes, "work", work)
    cells: Any = [SimpleNamespace(key=key, settings=Settings("toy")) for key in ("long", "short")]
    outcomes: Any = Lanes("cpu", 2).run(here, cells)
    assert next(outcomes) == CellOutcome("short")
    outcomes.close()
    assert len(epochs) < 500


def test_the_largest_model_determines_the_number_of_lanes(
    here: StudyFolder, task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def one(_device: Any, weights: int, _sharers: int) -> int:
        asked.append(weights)
        return 1

    monkeypatch.setattr(lanes, "lanes_here", one)
    folder = begun(tmp_path / "study", small_study(task, backbones=("tiny", "no/such/model")))
    outcomes = run(folder, Lanes("cpu"))
    assert recorded_rounds(here).items() <= recorded_rounds(folder).items()
    assert sum(outcome.error is not None for outcome in outcomes.values()) == 2
    tiny = load_backbone("tiny", folder.task(folder.cells[0]))
    assert asked == [tiny.weight_bytes]


def test_torch_is_initialised_before_lanes_start(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(device, "ready_for_threads", lambda gpu, strictly: done.append((gpu, strictly)))

    def work(_folder: StudyFolder, cell: CellPlan, _device: str, _observer: Observer) -> CellOutcome:
        done.append(cell.key)
        return CellOutcome(cell.key)

    monkeypatch.setattr(lanes, "work", work)
    for path, strictly in (("fast", True), ("plain", False)):
        study: Any = SimpleNamespace(
            cells=[SimpleNamespace(key="a", settings=Settings("toy", overrides={"arithmetic": path}))]
        )
        list(Lanes("cpu", 1).run(study, study.cells))
        assert done == [("cpu", strictly), "a"]
        done.clear()


@pytest.mark.parametrize(
    ("gpu", "seeds"), [("cpu", 2), pytest.param("cuda", 8, marks=pytest.mark.gpu)], ids=["processor", "GPU"]
)
def test_all_signals_in_a_lane_a_cell(gpu: str, seeds: int, task: dict[str, str], tmp_path: Path) -> None:
    """Among them those that need linear algebra, which torch loads at its first call."""
    study = small_study(
        task, seeds=tuple(range(seeds)), schedules=("retrain",), signals=tuple(SIGNALS.names()), overrides={"rounds": 2}
    )
    folder = begun(tmp_path / "study", replace(study, device=gpu))
    outcomes = run(folder, Lanes(gpu, seeds))
    assert [outcome.error for outcome in outcomes.values()] == [None] * seeds
    for found in recorded_rounds(folder).values():
        assert set(found["RR"]["changes"]) == set(SIGNALS.names())


@pytest.mark.gpu
@pytest.mark.parametrize(("head", "lanes"), [("random", 8), ("random", 3), ("probe", 8)])
def test_a_cell_has_the_same_records_alone_and_next_to_others(
    head: str, lanes: int, task: dict[str, str], tmp_path: Path
) -> None:
    """To the last digit; the gradient among the signals goes back through attention outside of any graph."""
    study = small_study(
        task, seeds=tuple(range(8)), signals=("alpha", "gradient-norm"), overrides={"head": head}, device="cuda"
    )
    together = begun(tmp_path / "together", study)
    run(together, Lanes("cuda", lanes))
    alone = begun(tmp_path / "alone", replace(study, seeds=(5,)))
    run(alone, Lanes("cuda", 1))
    assert recorded_rounds(alone)
    assert recorded_rounds(alone).items() <= recorded_rounds(together).items()


def test_as_many_lanes_as_memory_holds_but_never_none() -> None:
    assert lanes_that_fit(weights=10**9, free=0) == 1
    assert lanes_that_fit(weights=10**9, free=2**50) == MAX_LANES


def test_number_of_lanes_follows_from_free_gpu_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {0: 30 * 2**30, 1: 10 * 2**30}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda gpu: (free[gpu.index], 0))
    large, small = torch.device("cuda:0"), torch.device("cuda:1")
    assert (lanes_here(large, 400_000_000), lanes_here(small, 400_000_000)) == (5, 1)
    assert [lanes_here(large, 1, sharers) for sharers in (1, 2, 3, 5)] == [8, 4, 4, 2]
    assert lanes_here(torch.device("cpu"), 1) == 1
