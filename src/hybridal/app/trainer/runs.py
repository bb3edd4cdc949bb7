"""The folders of a project's chapters, read without a model."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridal.core.facts import Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.runs.record import RunFolder
from hybridal.schedules import Schedule, make_schedule

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChapterRecord:
    """A chapter as its folder tells it, after `before` rounds of earlier ones."""

    history: Sequence[Round]
    schedule: Schedule
    before: int
    rules: Rules


def chapter_folders(runs: Path) -> list[Path]:
    """The chapters' folders in order; other things may lie beside them."""
    return sorted((path for path in runs.glob("[0-9]*") if path.name.isdigit()), key=lambda path: int(path.name))


def read_chapters(chapters: Sequence[Path]) -> list[ChapterRecord]:
    """What these chapters tell; one that is damaged is passed over."""
    found: list[ChapterRecord] = []
    for path in chapters:
        try:
            folder = RunFolder.open(path)
            settings = folder.settings()
            schedule = make_schedule(settings.schedule)
            found.append(ChapterRecord(folder.history(), schedule, count_rounds(found), settings.rules))
        except UserError as error:
            log.warning("Chapter %s is passed over: %s", path.name, error)
    return found


def count_rounds(chapters: Sequence[ChapterRecord]) -> int:
    """How many rounds all these chapters have."""
    return sum(len(chapter.history) for chapter in chapters)


def clear_scratch(folder: Path, name: str = "*") -> None:
    """Takes away what was half written, to be called `name`, when a trainer was killed."""
    for left in folder.glob(f".{name}.*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
