"""The real MLflow and the real TensorBoard, each read with its own reader."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.runs.record import describe_run
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task
from hybridal.trackers import TRACKERS, figures

from .test_tracking import HISTORY

ABOUT = describe_run(Settings("toy", backbone="tiny", seed=9, overrides={"rounds": 4}), toy_task(), {})
Points = dict[int, list[float]]


def in_mlflow(name: str) -> Points:
    from mlflow import MlflowClient

    client = MlflowClient()
    experiment = client.get_experiment_by_name("mail")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.status, run.info.run_name) == ("FINISHED", "my run")
    assert run.data.params.items() >= {"backbone": "tiny", "rounds": "4", "task": "toy", "classes": "2"}.items()
    assert run.data.tags["update_sequence"] == "RRRR"
    points: Points = {}
    for metric in client.get_metric_history(run.info.run_id, name):
        points.setdefault(metric.step, []).append(metric.value)
    return points


def in_tensorboard(name: str) -> Points:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = Path("mail").iterdir()
    assert folder.name == "my-run-01234567"
    read = EventAccumulator(str(folder))
    read.Reload()
    assert b"| backbone | tiny |" in read.Tensors("settings/text_summary")[-1].tensor_proto.string_val[0]
    points: Points = {}
    for event in read.Scalars(name):
        points.setdefault(event.step, []).append(event.value)
    return points


@pytest.mark.parametrize("read", [in_mlflow, in_tensorboard])
def test_each_round_is_logged_once_however_often_the_run_resumes(
    read: Callable[[str], Points], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = read.__name__.removeprefix("in_")
    pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    # Files: a database, which is the default, takes seconds to be made.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    for known in (2, 2, 4):
        tracker = TRACKERS.make(f"{package}:mail")
        tracker.begin("0123456789", "my run", ABOUT)
        for record in HISTORY[:known]:
            tracker.record(record)
    for name in ("labels", "validation/f1"):
        assert read(name) == {record.round: [pytest.approx(figures(record)[name])] for record in HISTORY}


@pytest.mark.parametrize("package", TRACKERS.names())
def test_missing_package_is_named_with_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setattr("hybridal.trackers.tensorboard.find_spec", lambda _name: None)
    with pytest.raises(UserError, match=rf"'{package}' needs {package}; run `pip install 'hybridal\[{package}\]'`"):
        TRACKERS.make(package)
