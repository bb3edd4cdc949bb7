"""What the tests of this folder build from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.cuda.recorder import WARM_UPS, Recorder
from hybridal.models.device import Device
from hybridal.tasks import Task

PLAIN = Device("cuda", "fp32", fast=False)
GRAPHS = Device("cuda", "fp32")


def pair(backbone: Backbone, task: Task, pooling: str = "first") -> tuple[Classifier, Classifier]:
    """The same classifier twice: the plain path, and the fast one. In fp32, where little is rounded."""
    plain, graphs = (Classifier(backbone, task.classes, 7, device, pooling=pooling) for device in (PLAIN, GRAPHS))
    return plain, graphs


class Repeater(Recorder):
    """A recorder for machines without a GPU: it warms up, and then does the work itself again at each replay."""

    def __init__(self) -> None:
        self.device, self.generator, self._made = torch.device("cpu"), torch.Generator(), {}

    def record(self, work: Callable[[], Any], inference: bool = False) -> Callable[[], None]:
        with torch.inference_mode(inference):
            for _ in range(WARM_UPS):
                work()
        return work
