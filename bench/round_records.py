"""Round records of studies in one small file: `python -m bench.round_records STUDY… --out X.parquet --engine COMMIT`.

Each row is a distinct round. The update sequence determines a round, so the runs of every schedule can be assembled
from the rows that were computed: a run's cost is the sum over the prefixes of its update sequence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from bench.recorded_auto import recorded_schedule
from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.lab.paper.published import known_backbone, known_task
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_results import run_row, variant_name
from hybridal.lab.study.trie import histories
from hybridal.schedules import Schedule

# `engine` is the commit that computed a round. Two commits may differ in the last digits, which training amplifies:
# their rounds share tasks, splits and seeds, but are not paired.
CELL = ["engine", "study", "task", "backbone", "protocol", "acquisition", "variant", "seed"]
PLAIN = ("update_sequence", "round", "update", "labels", "kept_epoch", "temperature")
SPLITS = ("validation", "test")
COUNTED = [part.name for part in fields(Cost)]
MEASURED = [part.name for part in fields(Metrics) if part.name != "support"]  # a table has no lists of counts


def published(folder: StudyFolder, engine: str, study: str | None = None) -> pd.DataFrame:
    """All recorded rounds of a study, without seconds; `study` replaces its name."""
    return pd.DataFrame(
        [
            {**_cell(study or folder.study.name, cell, engine), **_row(record)}
            for cell in folder.cells
            for record in folder.rounds_by_sequence(cell).values()
        ]
    )


def _cell(study: str, cell: CellPlan, engine: str) -> dict[str, Any]:
    asked = cell.settings
    task, backbone = Path(asked.task), known_backbone(Path(asked.backbone).name)
    # A file that is called after its split belongs to the task that its folder is called after.
    called = known_task(task.parent.name if task.stem == "train" else task.stem)
    values = (engine, study, called, backbone, asked.protocol, asked.acquisition_spec)
    named = (*values, variant_name(cell.variant), asked.seed)
    return {**dict(zip(CELL, named, strict=True)), "rounds": asked.rules.rounds}


def _row(record: Round) -> dict[str, Any]:
    parts = ((split, getattr(record, split)) for split in SPLITS)
    return {
        **{name: getattr(record, name) for name in PLAIN},
        **asdict(record.cost),
        **{f"{split}_{name}": getattr(part, name) for split, part in parts if part for name in MEASURED},
        **{f"change_{name}": change for name, change in record.changes.items()},
        "label_changes": json.dumps(asdict(record.label_changes)) if record.label_changes else None,
        "acquired": list(record.acquired),
        "mean_score": sum(record.scores) / len(record.scores) if record.scores else None,
    }


@dataclass(frozen=True, eq=False)
class Cell:
    """The name of a cell, the number of rounds of a run, and its rounds by update sequence."""

    named: Mapping[str, Any]
    rounds: int
    known: dict[str, Round]


def cells(records: pd.DataFrame) -> list[Cell]:
    """The cells of a file of records, in its order."""
    found: dict[tuple[Any, ...], Cell] = {}
    for row in records.astype(object).where(records.notna(), None).to_dict("records"):
        named = {name: row[name] for name in CELL}
        known = found.setdefault(tuple(named.values()), Cell(named, row["rounds"], {})).known
        known[row["update_sequence"]] = _round(row)
    return list(found.values())


def _round(row: Mapping[Any, Any]) -> Round:
    parts = {split: {name: row.get(f"{split}_{name}") for name in MEASURED} for split in SPLITS}
    acquired = () if row["acquired"] is None else row["acquired"]
    return Round.from_json(
        {
            **{name: row[name] for name in PLAIN},
            **{split: part if part["f1"] is not None else None for split, part in parts.items()},
            "cost": {name: row[name] for name in COUNTED},
            "changes": {name.removeprefix("change_"): row[name] for name in row if name.startswith("change_")},
            "label_changes": json.loads(row["label_changes"]) if row["label_changes"] else None,
            "acquired": acquired,
            "scores": [] if row["mean_score"] is None else [row["mean_score"]] * len(acquired),  # all that is kept
        }
    )


def played(cells: Iterable[Cell], spec: str) -> list[tuple[Cell, tuple[Round, ...]]]:
    """The runs of a schedule, in the cells where all its rounds were computed and its signals were watched.

    Without its signal a schedule would seem never to switch.
    """
    schedule = recorded_schedule(spec)
    found = ((cell, _history(cell, schedule.spec)) for cell in cells)
    return [(cell, run) for cell, run in found if len(run) == cell.rounds and _watched(schedule, run)]


@cache
def _history(cell: Cell, spec: str) -> tuple[Round, ...]:
    return histories(cell.known, [recorded_schedule(spec)], cell.rounds)[spec]


def runs(cells: Iterable[Cell], specs: Sequence[str]) -> pd.DataFrame:
    """One row per run: its last round, its total cost, and when it switched."""
    return pd.DataFrame(
        [
            {**cell.named, "schedule": spec, **run_row(spec, history)}
            for spec in specs
            for cell, history in played(cells, spec)
        ]
    )


def _watched(schedule: Schedule, history: Sequence[Round]) -> bool:
    return all(any(record.changes.get(signal.name) is not None for record in history) for signal in schedule.watches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="STUDY_FOLDER")
    parser.add_argument("--out", required=True, type=Path, help="rounds of other studies or engines in it are kept")
    parser.add_argument("--engine", required=True, help="the commit whose code computed them")
    parser.add_argument("--study", help="what to call it, where one was computed in parts")
    asked = parser.parse_args()
    new = pd.concat([published(StudyFolder.open(folder), asked.engine, asked.study) for folder in asked.folders])
    if asked.out.exists():
        kept, source = pd.read_parquet(asked.out), ["engine", "study"]
        again = pd.MultiIndex.from_frame(kept[source]).isin(pd.MultiIndex.from_frame(new[source]))
        new = pd.concat([kept[~again], new])
    new.to_parquet(asked.out, index=False, compression="zstd")
    print(f"{asked.out}: {len(new):,} rounds in {new.groupby(CELL).ngroups} cells.")


if __name__ == "__main__":
    main()
