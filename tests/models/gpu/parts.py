"""What the tests of this folder build from."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.gpu.graph_recorder import WARM_UPS, Recorder
from hybridal.tasks import Task

PLAIN = Device("cuda", "fp32", fast=False)
GRAPHS = Device("cuda", "fp32")


def pair(backbone: Backbone, task: Task, pooling: str = "first") -> tuple[Classifier, Classifier]:
    """The same classifier twice: the plain path, and the fast one. In fp32, where little is rounded."""
    plain, graphs = (Classifier(backbone, task.classes, 7, device, pooling=pooling) for device in (PLAIN, GRAPHS))
    return plain, graphs


class Repeater(Recorder):
    """A recorder without graphs: it warms up, and then does the work itself again at each replay."""

    def __init__(self, device: str = "cpu") -> None:
        self.device, self.generator, self._made = torch.device(device), torch.Generator(), {}

    def record(self, work: Callable[[], Any], inference: bool = False) -> Callable[[], None]:
        with torch.inference_mode(inference):
            for _ in range(WARM_UPS):
                work()
        return work


# Kernels are compiled for a GPU; with TRITON_INTERPRET=1 they can be tried anywhere that Triton is installed.
HAS_KERNELS = find_spec("triton") is not None and (torch.cuda.is_available() or "TRITON_INTERPRET" in os.environ)
needs_kernels = pytest.mark.skipif(not HAS_KERNELS, reason="needs Triton, and a CUDA device or its interpreter")
ON = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def row_of(texts: list[list[int]], seed: int = 0, tail: int = 3) -> Any:
    """These token ids as a row, with a tail of padding."""
    from hybridal.models.gpu.token_row import TokenRow

    ids = [number for text in texts for number in text] + [0] * tail
    order = np.argsort(ids, kind="stable")
    numbers = [*range(len(texts)), *map(len, texts), seed, *ids, *order]
    inputs = torch.tensor(numbers, dtype=torch.int32, device=ON)
    return TokenRow.of(inputs, len(texts), max(map(len, texts)), first_tokens=False)
