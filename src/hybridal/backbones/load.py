"""From a backbone's name to its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybridal.backbones import carried, hub, tiny
from hybridal.backbones.backbone import Backbone
from hybridal.errors import UserError
from hybridal.tasks.task import Task

HUB_IDS = {
    "distilbert": "distilbert/distilbert-base-uncased",
    "bert": "google-bert/bert-base-uncased",
    "roberta": "FacebookAI/roberta-base",
}

BACKBONE_NAMES = (*carried.CARRIED, "tiny", *HUB_IDS)


def load_backbone(name: str, task: Task, notify: Callable[[str], None] = lambda _: None) -> Backbone:
    """The backbone of this name: `minilm`, `mpnet`, `tiny`, `distilbert`, `bert`, `roberta`, a folder, or any
    hub id. `tiny` learns its vocabulary from the task's texts; the others do not look at the task.
    """
    if name in carried.CARRIED:
        return Backbone(name, carried.folder(name, notify))
    if name == "tiny":
        return Backbone(name, tiny.folder(task))
    if Path(name).expanduser().is_dir():
        return Backbone(name, Path(name).expanduser().resolve())
    if name.startswith(("/", "./", "../", "~")) or Path(name).exists():  # which no id on the hub does
        raise UserError(f"Backbone '{name}' is not a folder; check the path, or name a backbone.", field="backbone")
    return Backbone(name, hub.folder(HUB_IDS.get(name, name), notify))
