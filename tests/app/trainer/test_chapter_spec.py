from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.project_settings import DEFAULTS, first_batch
from hybridal.app.project_settings import write as decide
from hybridal.app.trainer.chapter import ModelSpec, learner_options
from hybridal.app.trainer.snapshot import snapshot
from hybridal.core.rules import protocol

from ..copies import copied
from .projects import label_some, made


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def spec(project: Project) -> ModelSpec:
    with project.reads() as session:
        return ModelSpec.of(snapshot(session), project)


def test_a_frame_is_read_as_it_was_written(project: Project, tmp_path: Path) -> None:
    spec(project).write(tmp_path)
    assert ModelSpec.read(tmp_path) == spec(project)


def test_labels_names_positions_and_paces_do_not_change_it(project: Project) -> None:
    before = spec(project)
    label_some(project, 3, 3)
    with project.sessions.begin() as session:
        number = classes.find(session, "sport").number
        classes.rename(session, number, "games")
        classes.place(session, number, 1)
        decide(session, {"budget": 99, "batch": 3, "device": "auto"})
    assert spec(project) == before


def test_classes_and_the_making_of_the_model_change_it(project: Project) -> None:
    before = spec(project)
    with project.sessions.begin() as session:
        classes.add(session, ["space"])
    added = spec(project)
    assert added != before
    with project.sessions.begin() as session:
        decide(session, {"overrides": {"max_epochs": 3}})
    assert spec(project) != added


def test_default_protocol_suits_interactive_labelling(project: Project) -> None:
    found = learner_options(project)
    assert (found["backbone"], found["protocol"], found["seed"], found["max_epochs"]) == ("tiny", "best", 42, 2)
    assert (found["schedule"], found["acquisition"]) == ("auto", "margin")
    assert (found["batch"], found["initial"], found["rounds"], found["candidates"]) == (6, 6, 134, 24)
    assert found["calibrate"] is True


def test_another_protocol_chooses_by_its_own_acquisition_unless_one_is_decided(project: Project) -> None:
    before = spec(project)
    project.decide({"protocol": "paper"})
    assert learner_options(project)["acquisition"] == spec(project).options["acquisition"] == "entropy"
    project.decide({"protocol": "best"})
    assert spec(project) == before
    project.decide({"protocol": "paper", "acquisition": "random"})
    assert learner_options(project)["acquisition"] == "random"


@pytest.mark.parametrize(("asked", "candidates"), [({"candidates": 7}, 24), ({"candidates": None}, None), ({}, 1000)])
def test_there_are_always_enough_candidates_for_the_queue(
    project: Project, asked: dict[str, int | None], candidates: int | None
) -> None:
    with project.sessions.begin() as session:
        decide(session, {"overrides": asked})
    assert learner_options(project)["candidates"] == candidates


@pytest.mark.parametrize("asked", [{}, {"max_epochs": 3}, DEFAULTS["overrides"]])
def test_validation_texts_of_the_app_are_used_whatever_is_overridden(
    project: Project, asked: dict[str, object]
) -> None:
    # The protocol would hold back a share of the labels, and learn those that the app set aside.
    assert protocol("best").validation == "share"
    with project.sessions.begin() as session:
        decide(session, {"overrides": asked})
    assert learner_options(project)["validation"] == "fixed"


def test_the_first_model_waits_for_ten_labels_whatever_the_batch(tmp_path: Path) -> None:
    project = made(tmp_path / "own.hybridal", batch=16, overrides=DEFAULTS["overrides"])
    assert (first_batch(project.settings()), learner_options(project)["initial"]) == (10, 10)
    project.close()


def test_a_project_may_ask_for_more_labels_before_its_first_model(project: Project) -> None:
    with project.sessions.begin() as session:
        decide(session, {"overrides": {"initial": 40}})
    assert (first_batch(project.settings()), learner_options(project)["initial"]) == (40, 40)
