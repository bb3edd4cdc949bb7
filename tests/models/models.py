"""Models for tests of the transformer model and its views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hybridal.backbones import Backbone
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.core.rules import protocol
from hybridal.models.transformer import TransformerModel
from hybridal.tasks import Task

from .parts import CPU

RULES = protocol("paper", {"learning_rate": 1e-3, "max_epochs": 3, "max_length": 32})
POOL = Pool.unlabelled(90).reveal({7: 1, 3: 0, 50: 1})
ROWS = np.array([12, 80, 41, 5])


def model_of(task: Task, backbone: Backbone, **options: Any) -> TransformerModel:
    return TransformerModel(task, backbone, RULES, 1, CPU, **options)


def unlabelled(task: Task, split: str, rows: Any = slice(None)) -> Task:
    labels = getattr(task, split).labels.copy()
    labels[rows] = UNKNOWN
    return replace(task, **{split: replace(getattr(task, split), labels=labels)})
