"""A study folder that is read once, for work that asks it for the same facts many times."""

from __future__ import annotations

from hybridal.core.facts import Round
from hybridal.evidence.tables._schedules import schedule_of
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan
from hybridal.study.trie import histories


class ReadOnce(StudyFolder):
    """What was recorded when a cell was first asked for; use it for one piece of work, then let it go."""

    def __init__(self, folder: StudyFolder) -> None:
        super().__init__(folder.path, folder.study)
        self._facts: dict[str, dict[str, Round]] = {}
        self._histories: dict[str, dict[str, tuple[Round, ...]]] = {}

    def facts(self, cell: CellPlan) -> dict[str, Round]:
        if cell.key not in self._facts:
            self._facts[cell.key] = super().facts(cell)
        return self._facts[cell.key]

    def histories(self, cell: CellPlan) -> dict[str, tuple[Round, ...]]:
        if cell.key not in self._histories:
            schedules = [schedule_of(spec) for spec in cell.schedules]
            self._histories[cell.key] = histories(self.facts(cell), schedules, cell.settings.rules.rounds)
        return self._histories[cell.key]
