"""A project whose model chooses its pretrained encoder among several."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.app.insight.project_progress import progress
from hybridal.app.labelling import classes
from hybridal.app.project import chapter_folders
from hybridal.app.trainer.cycle import Cycle
from hybridal.backbones import auto_candidates
from hybridal.runs.record import RunFolder
from tests.helpers.topic_encoder import topic_encoder

from .projects import TASK, label_some, made


@pytest.fixture
def topics(tmp_path: Path) -> str:
    return str(topic_encoder(TASK, tmp_path / "topics"))


def trained(cycle: Cycle) -> str:
    """One more round; the encoder it used."""
    label_some(cycle.project, 6, 1)
    assert cycle.turn()
    assert cycle.chapter is not None
    return cycle.chapter.learner.backbone


def test_a_project_changes_its_encoder_and_says_why(tmp_path: Path, topics: str) -> None:
    project = made(tmp_path / "toys.hybridal", backbone=f"auto:tiny,{topics}")
    label_some(project, 0, 6)
    cycle = Cycle(project)
    cycle.start()
    assert trained(cycle) == "tiny"
    while cycle.score():  # vectors of texts, which the next encoder replaces
        pass
    assert project.embeddings.read().about["backbone"] == "tiny"  # type: ignore[union-attr]
    assert trained(cycle) == topics
    while cycle.score():
        pass
    assert project.embeddings.read().about["backbone"] == topics  # type: ignore[union-attr]
    told = progress(project)
    assert told["encoder"].startswith(f"The labels chose the encoder {topics}: log loss ")
    assert told["encoder"].endswith("It replaced tiny in round 2.")
    assert told["rounds"][1]["reason"].startswith("new encoder")

    again = Cycle(project)  # a trainer that was killed and started again
    again.start()
    assert trained(again) == topics
    (folder,) = chapter_folders(project.runs)
    assert [Path(record.encoder.backbone).name for record in RunFolder(folder).history() if record.encoder] == [
        "tiny",
        "topics",
        "topics",
    ]
    project.close()


def test_a_candidate_that_is_found_later_is_none_of_a_model_that_goes_on(
    tmp_path: Path, topics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_candidates, "DEFAULT_CANDIDATES", ("topics", "tiny"))
    project = made(tmp_path / "toys.hybridal", backbone="auto")
    label_some(project, 0, 6)
    cycle = Cycle(project)
    cycle.start()
    assert trained(cycle) == "tiny"
    monkeypatch.setenv("HYBRIDAL_MODELS", str(Path(topics).parent))
    with project.sessions.begin() as session:
        classes.add(session, ["space"])
    assert trained(cycle) == "tiny"
    assert cycle.chapter is not None
    assert len(cycle.chapter.learner.history) == 2
    project.close()


def test_the_encoder_stays_when_a_class_is_added(tmp_path: Path, topics: str) -> None:
    project = made(tmp_path / "toys.hybridal", backbone=f"auto:tiny,{topics}")
    label_some(project, 0, 6)
    cycle = Cycle(project)
    cycle.start()
    assert [trained(cycle), trained(cycle)] == ["tiny", topics]
    with project.sessions.begin() as session:
        classes.add(session, ["space"])
    assert trained(cycle) == topics
    assert cycle.chapter is not None
    assert len(cycle.chapter.learner.history) == 3
    project.close()
