"""From a backbone's name to its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybridal.backbones import hub, minilm, mpnet, tiny
from hybridal.backbones.backbone import Backbone
from hybridal.tasks.task import Task

HUB_IDS = {
    "distilbert": "distilbert/distilbert-base-uncased",
    "bert": "google-bert/bert-base-uncased",
    "roberta": "FacebookAI/roberta-base",
}

BACKBONE_NAMES = ("minilm", "mpnet", "tiny", *HUB_IDS)


def load_backbone(name: str, task: Task, notify: Callable[[str], None] = lambda _: None) -> Backbone:
    """The backbone of this name: `minilm`, `mpnet`, `tiny`, `distilbert`, `bert`, `roberta`, a folder, or any
    hub id. `tiny` learns its vocabulary from the task's texts; the others do not look at the task.
    """
    if name == "minilm":
        return Backbone(name, minilm.folder(notify))
    if name == "mpnet":
        return Backbone(name, mpnet.folder(notify))
    if name == "tiny":
        return Backbone(name, tiny.folder(task))
    if Path(name).expanduser().is_dir():
        return Backbone(name, Path(name).expanduser().resolve())
    return Backbone(name, hub.folder(HUB_IDS.get(name, name), notify))
