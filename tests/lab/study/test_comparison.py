"""Several schedules in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.errors import RunError, UserError
from hybridal.lab.study.comparison import Comparison
from hybridal.runs import run
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

from .linear import damage

SPECS = ("retrain", "finetune", "fixed:3", "hybrid:accuracy:0.9:1")
OVERRIDES = {"rounds": 3, "initial": 12, "batch": 4, "candidates": 40, "max_epochs": 2, "learning_rate": 1e-3}


class Listener(Observer):
    def __init__(self, stop_at: int | None = None) -> None:
        self.heard: list[object] = []
        self._stop_at = stop_at

    def round_started(self, round: int, of: int | None, update: str) -> None:
        self.heard.append((round, of, update))

    def round_done(self, history: Sequence[Round]) -> None:
        (record,) = history
        self.heard.append(record.update_sequence)
        if self._stop_at is not None and len(self.heard) == 2 * self._stop_at:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    task, file = toy_task(), tmp_path_factory.mktemp("texts") / "texts.csv"
    rows = [f"{text},{task.classes[label]}\n" for text, label in zip(task.train.texts, task.train.labels, strict=True)]
    file.write_text("text,label\n" + "".join(rows))
    return Settings(
        str(file), label="label", backbone="tiny", protocol="quick", device="cpu", overrides=OVERRIDES, schedule="x"
    )


@pytest.fixture(scope="module")
def whole(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    compared = Comparison.begin(settings, SPECS, tmp_path_factory.mktemp("whole") / "comparison")
    compared.resume()
    return compared


def timeless(histories: dict[str, tuple[Round, ...]]) -> dict[str, list[Round]]:
    return {spec: [replace(record, seconds={}) for record in history] for spec, history in histories.items()}


def test_comparison_gives_each_schedule_its_own_runs_records(
    settings: Settings, whole: Comparison, tmp_path: Path
) -> None:
    found = timeless(whole.histories())
    assert list(found) == list(SPECS)
    for spec in ("fixed:3", "hybrid:accuracy:0.9:1"):
        # Alone, a schedule is watched by its own signals only.
        own = replace(settings, schedule=spec, signals=("accuracy",))
        alone = run.resume_run(run.begin(own, tmp_path / spec))
        assert found[spec] == timeless({spec: tuple(alone)})[spec]


def test_shared_rounds_are_recorded_once(whole: Comparison) -> None:
    words = [record.update_sequence for record in whole.folder.history()]
    assert sorted(words) == sorted({"R", "RR", "RRR", "RRF", "F", "FF", "FFF"})


def test_interrupted_comparison_resumes(settings: Settings, whole: Comparison, tmp_path: Path) -> None:
    compared = Comparison.begin(settings, SPECS, tmp_path / "comparison")
    with pytest.raises(KeyboardInterrupt):
        compared.resume(Listener(stop_at=5))
    known = compared.folder.history()
    assert len(known) == 5
    damage(compared.folder.checkpoint)

    again = Comparison.open(tmp_path / "comparison")
    listener = Listener()
    again.resume(listener)
    assert timeless(again.histories()) == timeless(whole.histories())
    assert again.folder.history()[:5] == known
    assert listener.heard == [(3, 3, "finetune"), "RRF", (3, 3, "retrain"), "RRR"]


def test_finished_comparison_is_not_computed_again(whole: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("a model was built for nothing")

    monkeypatch.setattr("hybridal.lab.study.trie.build_loop_model", refuse)
    before = whole.folder.rounds.path.read_bytes()
    whole.resume()
    assert whole.folder.rounds.path.read_bytes() == before


def test_one_process_at_a_time(whole: Comparison) -> None:
    with whole.folder.locked(), pytest.raises(RunError, match="is in use by process"):
        whole.resume()


def test_a_schedule_named_twice_is_one(settings: Settings, tmp_path: Path) -> None:
    specs = ("hybrid:accuracy", "retrain", "hybrid:accuracy:0.005:2", "retrain")
    compared = Comparison.begin(settings, specs, tmp_path / "comparison")
    assert [schedule.spec for schedule in compared.schedules] == ["hybrid:accuracy:0.005:2", "retrain"]
    assert compared.histories() == {"hybrid:accuracy:0.005:2": (), "retrain": ()}


@pytest.mark.parametrize(
    ("changes", "specs", "sentence"),
    [
        ({}, (), "`schedules` names no schedule"),
        ({}, ("retrain", "sometimes"), "There is no schedule named 'sometimes'"),
        ({"acquisition": "nosuch"}, ("retrain",), "There is no acquisition named 'nosuch'"),
        ({"backbone": "no/such-encoder"}, ("retrain",), "Backbone 'no/such-encoder' is not on this machine, and"),
        ({"overrides": {"train_layers": 9}}, ("retrain",), "`train_layers` is 9, but backbone 'tiny' has 2 layers."),
        ({"labels": "mine.csv"}, ("retrain",), "A comparison simulates its labels; leave `labels` out"),
        ({"label": None, "classes": ("sport", "food")}, ("retrain",), "A comparison simulates its labels, and "),
    ],
)
def test_invalid_comparison_leaves_no_folder(
    changes: dict[str, object], specs: tuple[str, ...], sentence: str, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        Comparison.begin(settings.with_changes(changes), specs, tmp_path / "comparison")
    assert sentence in str(caught.value)
    assert not (tmp_path / "comparison").exists()


def test_a_run_is_not_a_comparison(settings: Settings, whole: Comparison, tmp_path: Path) -> None:
    folder = run.begin(replace(settings, schedule="retrain"), tmp_path / "run")
    assert not Comparison.is_one(folder.path)
    assert not Comparison.is_one(tmp_path / "nowhere")
    assert Comparison.is_one(whole.folder.path)
    with pytest.raises(UserError, match=r"is a run, not a comparison; go on with `hybridal resume"):
        Comparison.open(folder.path)
    with pytest.raises(UserError, match="is not a run folder"):
        Comparison.open(tmp_path / "nowhere")
