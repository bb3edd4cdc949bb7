"""What the tests of this folder build from."""

from __future__ import annotations

from hybridal.backbones import Backbone
from hybridal.model.classifier import Classifier
from hybridal.model.device import Device
from hybridal.task import Task

PLAIN = Device("cuda", "fp32", fast=False)
GRAPHS = Device("cuda", "fp32")


def pair(backbone: Backbone, task: Task) -> tuple[Classifier, Classifier]:
    """The same classifier twice: the plain path, and the fast one. In fp32, where little is rounded."""
    return Classifier(backbone, task.classes, 7, PLAIN), Classifier(backbone, task.classes, 7, GRAPHS)
