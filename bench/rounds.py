"""The runs of a study in one small file, one row per round: `python -m bench.rounds STUDY_FOLDER --out FILE.parquet`.

For studies that test every round, as `learners` and `late-class` do. Runs that are not whole are left out; those in
the file that are described alike are replaced.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder, task_key

RUN = [
    "protocol",
    "task",
    "acquisition",
    "first_draw",
    "validation",
    "use_class_descriptions",
    "min_finetune_steps",
    "schedule",
    "seed",
]
# What bench.round_records calls by the names of presets, these files call by those of folders.
FOLDERS = {"agnews": "ag_news"}
TESTED = ("accuracy", "f1", "nll", "ece", "nll_scaled", "ece_scaled")


def validation_of(rules: Rules) -> str:
    """
    >>> from hybridal.core.rules import protocol
    >>> [validation_of(protocol("best", {"validation": kind, "validation_size": 50})) for kind in ("none", "fixed")]
    ['none', '50 fixed']
    >>> validation_of(protocol("best")), validation_of(protocol("best", {"validation_size": None}))
    ('share 0.1, 50 at most', 'share 0.1')
    """
    most = rules.validation_size
    if rules.validation == "share":
        return f"share {rules.validation_share}" + ("" if most is None else f", {most} at most")
    return f"{most} fixed" if rules.validation == "fixed" else rules.validation


def rows(folder: StudyFolder) -> pd.DataFrame:
    """All rounds of the complete runs. Only the folder is read: its tasks need not exist on this machine."""
    one_of_each = {task_key(cell.settings): cell for cell in folder.cells}
    classes = {key: len(folder.task(cell).classes) for key, cell in one_of_each.items()}
    found = []
    for cell in folder.cells:
        for spec, history in folder.histories(cell).items():
            if len(history) == cell.settings.rules.rounds:
                task = FOLDERS.get(cell.settings.task, cell.settings.task)
                named = {**_run(cell, task), "schedule": spec.removesuffix(":0.005:2")}
                found += [{**named, **_row(record), "classes": classes[task_key(cell.settings)]} for record in history]
    return pd.DataFrame(found)


def _run(cell: CellPlan, task: str) -> dict[str, Any]:
    asked = cell.settings
    rules = asked.rules
    names = "yes" if rules.use_class_descriptions else "no"
    shaped = (rules.initial_draw, validation_of(rules), names, rules.min_finetune_steps)
    return dict(zip(RUN, (asked.protocol, task, asked.acquisition_spec, *shaped, "", asked.seed), strict=True))


def _row(record: Round) -> dict[str, Any]:
    assert record.test is not None
    measured = record.validation
    return {
        "round": record.round,
        "labels": record.labels,
        "update": record.update,
        "reason": record.reason,
        "steps": record.cost.steps,
        "temperature": record.temperature,
        **{f"test_{name}": getattr(record.test, name) for name in TESTED},
        "validation_n": measured.n if measured else 0,
        "validation_right": measured.right if measured else 0,
        "validation_f1": measured.f1 if measured else None,
        "disagreement": record.changes.get("agreement"),
    }


def joined(known: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Append new rounds with the known types; runs with the same factors are replaced."""
    plain = known.astype(dict.fromkeys(known.select_dtypes("category"), str))
    by = [name for name in RUN if name in known]
    again = pd.MultiIndex.from_frame(plain[by]).isin(pd.MultiIndex.from_frame(new[by]))
    both = pd.concat([plain[~again], new[list(known)]], ignore_index=True)
    kinds = {name: "category" if str(kind) == "category" else kind for name, kind in known.dtypes.items()}
    return both.astype(kinds).sort_values([*by, "round"], ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="STUDY_FOLDER")
    parser.add_argument("--out", required=True, type=Path, help="a file that is there already")
    asked = parser.parse_args()
    folder = StudyFolder.open(asked.folder)
    both = joined(pd.read_parquet(asked.out), rows(folder))
    both.to_parquet(asked.out, index=False, compression="zstd")
    by = [name for name in RUN if name in both]
    print(f"{asked.out}: {len(both):,} rounds in {both.groupby(by, observed=True).ngroups} runs.")


if __name__ == "__main__":
    main()
