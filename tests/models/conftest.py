from __future__ import annotations

import pytest

from hybridal.backbones import Backbone, load_backbone
from hybridal.models.classifier import Classifier
from hybridal.models.transformer import TransformerModel
from hybridal.tasks import Task
from hybridal.testing.small import toy_task

from .models import model_of
from .parts import ARCHITECTURES, classifier_of, random_backbone


@pytest.fixture(scope="session")
def task() -> Task:
    return toy_task(train=90, validation=40, test=20)


@pytest.fixture(scope="session")
def tiny(task: Task) -> Backbone:
    return load_backbone("tiny", task)


@pytest.fixture(scope="session", params=[*ARCHITECTURES])
def backbone(request: pytest.FixtureRequest, tiny: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    """Each architecture of the paper, small and random, in a folder."""
    folder = tmp_path_factory.mktemp(request.param)
    return random_backbone(request.param, tiny.folder, folder)


@pytest.fixture
def classifier(tiny: Backbone, task: Task) -> Classifier:
    return classifier_of(tiny, task)


@pytest.fixture
def model(task: Task, tiny: Backbone) -> TransformerModel:
    return model_of(task, tiny)
