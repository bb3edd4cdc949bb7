"""Select the runs of a study that one figure can compare fairly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hybridal.lab.study.study_folder import task_key
from hybridal.lab.study.study_results import CELL, COSTS, FINETUNE, RETRAIN, Cost, Results

# With fewer seeds the standard error says little about chance.
SEEDS_FOR_A_BAND = 3
# More lines cannot be distinguished.
MAX_METHODS = 12


@dataclass(frozen=True)
class Comparable(Results):
    """Runs of the cells in which every schedule is complete."""

    def methods(self, fixed: bool = True) -> list[str]:
        """Return the schedules in the study's order, with or without fixed switches; none if too many to draw."""
        chosen = [spec for spec in self.specs if fixed or not spec.startswith("fixed:")]
        return chosen if len(chosen) <= MAX_METHODS else []

    @property
    def measured(self) -> str | None:
        """The split on which the last round of every run was measured: test, else validation, else None."""
        for split in ("test", "validation"):
            if self.runs[[f"{split}_f1", f"{split}_nll"]].notna().all(axis=None):
                return split
        return None

    def cost(self, cost: Cost) -> str | None:
        """Return the column of a cost; None if it was not recorded. A schedule may take no step, but all take time."""
        taken = self.runs[COSTS[cost]] > 0
        return COSTS[cost] if (taken.any() if cost == "steps" else taken.all()) else None

    def families(self) -> Iterator[tuple[str, Comparable]]:
        """Yield binary and multi-class tasks separately, or one part if the number of classes is unknown."""
        classes = self._classes()
        counts = self.runs["task"].map(classes), self.rounds["task"].map(classes)
        if counts[0].isna().any():
            yield "All tasks", self
            return
        for name, binary in (("Binary", True), ("Multi-class", False)):
            runs, rounds = self.runs[(counts[0] == 2) == binary], self.rounds[(counts[1] == 2) == binary]
            if len(runs):
                few = "task" if runs["task"].nunique() == 1 else "tasks"
                yield f"{name} {few}", replace(self, runs=runs, rounds=rounds)

    def _classes(self) -> dict[str, int]:
        """The number of classes of each task whose file is in the study folder."""
        known: dict[str, int] = {}
        for cell in self.folder.cells:
            # Not `folder.task`, which would read every text.
            file = self.folder.task_home(task_key(cell.settings)) / "task.json"
            if cell.settings.task not in known and file.is_file():
                known[cell.settings.task] = len(json.loads(file.read_text(encoding="utf-8"))["classes"])
        return known

    def changes(self, spec: str, signal: str) -> dict[tuple[str, str, int], list[float | None]]:
        """The changes of a signal in each run of a schedule, by (task, backbone, seed), in the order of rounds."""
        own = self.rounds[self.rounds["schedule"] == spec].sort_values("round", kind="stable")
        found: dict[tuple[str, str, int], list[float | None]] = {}
        for *run, change in own[["task", "backbone", "seed", f"change_{signal}"]].itertuples(index=False):
            missing = change is None or math.isnan(change)
            found.setdefault((run[0], run[1], run[2]), []).append(None if missing else float(change))
        return found


def comparable(results: Results) -> Comparable | None:
    """Return the runs of one setting that can be compared; None if there are none.

    Also None if acquisitions or protocols vary, because a mean over them has no meaning. A fixed switch in the first
    round equals FineTune and one after the last equals Retrain; they get these names if those schedules are missing.
    """
    runs, rounds = results.runs, results.rounds
    if runs.empty or len(runs[["acquisition", "variant"]].drop_duplicates()) > 1:
        return None
    pure = {"fixed:1": FINETUNE, f"fixed:{int(runs['rounds'].max()) + 1}": RETRAIN}
    pure = {fixed: name for fixed, name in pure.items() if name not in results.specs}
    runs = runs.assign(schedule=runs["schedule"].replace(pure))
    rounds = rounds.assign(schedule=rounds["schedule"].replace(pure))
    whole = runs.groupby(CELL)["schedule"].nunique() == runs["schedule"].nunique()
    kept = whole[whole].reset_index()[CELL]
    if kept.empty:
        return None
    return Comparable(runs.merge(kept, on=CELL), rounds.merge(kept, on=CELL), results.folder)
