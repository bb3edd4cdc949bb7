from __future__ import annotations

import pytest

from hybridal.backbones import Backbone, load_backbone
from hybridal.models.classifier import Classifier
from hybridal.tasks import Task
from hybridal.testing.small import toy_task

from .parts import classifier_of


@pytest.fixture(scope="session")
def task() -> Task:
    return toy_task(train=90, validation=40, test=20)


@pytest.fixture(scope="session")
def tiny(task: Task) -> Backbone:
    return load_backbone("tiny", task)


@pytest.fixture
def classifier(tiny: Backbone, task: Task) -> Classifier:
    return classifier_of(tiny, task)
