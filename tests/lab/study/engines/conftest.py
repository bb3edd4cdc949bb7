from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridal import ActiveLearner
from hybridal.lab.study.engines import Here
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.runs.export import export_model
from hybridal.testing.small import toy_task

from .engine_studies import begun, run, small_study, write_texts
from .two_nodes import TwoNodes


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings that name the toy task."""
    return write_texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="session")
def here(task: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """The small study, computed in this process; not to be written to."""
    folder = begun(tmp_path_factory.mktemp("here") / "study", small_study(task))
    outcomes = run(folder, Here())
    assert [outcome.error for outcome in outcomes.values()] == [None, None]
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small one, exported."""
    task = toy_task()
    rules: dict[str, Any] = {"batch": 20, "max_length": 12, "max_epochs": 2, "learning_rate": 2e-3}
    learner = ActiveLearner(task, backbone="tiny", schedule="retrain", device="cpu", **rules)
    learner.teach(task.answers(learner.query().ids))
    target = tmp_path_factory.mktemp("scored") / "model"
    inside = learner.transformer
    export_model(inside.classifier, inside.encoder, task, learner.settings, learner.history[-1], target)
    return target


@pytest.fixture(scope="session")
def nodes() -> Iterator[TwoNodes]:
    """A cluster of two nodes, to which this process is connected; a lost second node is replaced."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        # Without this a cluster on 127.0.0.1 is looked for at this machine's address in the network.
        patch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
        two = TwoNodes()
        ray.init(address=two.address, log_to_driver=False)
        yield two
        ray.shutdown()
        two.cluster.shutdown()
