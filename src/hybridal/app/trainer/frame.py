"""What a chapter is about: when that changes, the next chapter begins."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hybridal.app.project import Project
from hybridal.app.trainer.snapshot import Snapshot
from hybridal.system.files import strict_json

FILE = "chapter.json"


@dataclass(frozen=True)
class Frame:
    """The classes by number, how many texts there are, and how the model is made.

    Names are not part of it: a class that is renamed is the same class.
    """

    classes: tuple[int, ...]
    texts: int
    engine: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Snapshot, project: Project) -> Frame:
        return cls(tuple(snapshot.classes), snapshot.texts, engine(project))

    @classmethod
    def read(cls, folder: Path) -> Frame:
        said = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return cls(tuple(said["classes"]), said["texts"], said["engine"])

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(strict_json(asdict(self), indent=2) + "\n", encoding="utf-8")


def engine(project: Project) -> dict[str, Any]:
    """The settings that shape a model; the others, and the machine, may change at any time."""
    names = ("backbone", "schedule", "protocol", "overrides", "acquisition", "seed")
    return {name: project.setting(name) for name in names}


def options(project: Project) -> dict[str, Any]:
    """The keywords of a project's learner.

    Ranking by calibrated probabilities makes those of the candidates fit to be shown. What is measured on, the app has
    set aside itself, whatever else is overridden: a protocol that takes a share of the labels would learn it.
    """
    said = engine(project)
    batch, rules = int(project.setting("batch")), dict(said.pop("overrides"))
    candidates = rules.pop("candidates", 1000)
    return {
        **said,
        "device": project.setting("device"),
        "batch": batch,
        "initial": first_batch(project),
        "rounds": max(1, math.ceil(int(project.setting("budget")) / batch)),
        "candidates": candidates and max(int(candidates), 4 * batch),
        "calibrate": True,
        "validation": "fixed",
        **rules,
    }


def first_batch(project: Project) -> int:
    """How many labels the first model waits for: as few as any other, unless the project says otherwise."""
    return int(project.setting("overrides").get("initial", project.setting("batch")))
