from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest

from hybridal.core.rounds import Round
from hybridal.lab.reports.comparable import Comparable, comparable
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_presets import preset
from hybridal.lab.study.study_results import Results, results

from ...reports.studies import Change, write_study


@dataclass(frozen=True)
class Made:
    """A made-up study, as the real code reads it from disk."""

    folder: StudyFolder
    results: Results

    @cached_property
    def fair(self) -> Comparable:
        """What may be compared of it."""
        found = comparable(self.results)
        assert found is not None
        return found


class Maker:
    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, study: Study, edit: Change = lambda record: record) -> Made:
        folder = write_study(self.root / str(len(list(self.root.iterdir()))), study, edit)
        opened = StudyFolder.open(folder.path)
        return Made(opened, results(opened))


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="session")
def main(make: Maker) -> Made:
    """3 backbones, 6 tasks, 3 seeds, 9 schedules, 25 rounds."""
    return make(preset("main").shrunk(seeds=(1, 2, 3)))


@pytest.fixture(scope="session")
def signals(make: Maker) -> Made:
    return make(preset("signals").shrunk(seeds=(1, 2, 3), tasks=("imdb", "agnews", "yahoo")))


@pytest.fixture(scope="session")
def tuning(make: Maker) -> Made:
    return make(preset("tuning"))


@pytest.fixture(scope="session")
def subset_size(make: Maker) -> Made:
    return make(preset("subset-size").shrunk(rounds=10))


@pytest.fixture(scope="session")
def switch_points(make: Maker) -> Made:
    return make(preset("switch-points", rounds=10).shrunk(tasks=("imdb", "yahoo"), seeds=(1, 2, 3)))


@pytest.fixture(scope="session")
def small(make: Maker) -> Made:
    """One task, one backbone, one seed, eight rounds."""
    return make(preset("main").shrunk(tasks=("imdb",), backbones=("tiny",), seeds=(7,), rounds=8))


def without_metrics(record: Round) -> Round:
    return replace(record, validation=None, test=None, seconds={})
