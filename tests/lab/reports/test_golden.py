"""The same records give the same reports: every table, sentence and figure is compared with a stored copy.

`python -m tests.lab.reports.test_golden` replaces the stored copy after an intended change; review its diff.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.lab.study.study_presets import preset
from hybridal.lab.write_study_report import write_study_report
from hybridal.reports import figure_style as style
from hybridal.reports.run_report import write_comparison, write_report
from hybridal.runs.about_file import write_about
from hybridal.runs.record import RunFolder
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json
from hybridal.tasks.store import save_task
from hybridal.testing.small import toy_task

from ...reports.made_up_rounds import ABOUT, SPECS, histories_of, history_of, without_measures
from ...reports.page_reader import Read, read_page
from .example import made_up_study
from .studies import write_study

FOLDER = Path(__file__).parent / "golden"
MAX_DIFF_LINES = 80

GRID = tuple(f"hybrid:alpha:{e}:{k}" for e in (0.0001, 0.0003) for k in (2, 3))
SWITCHES = (*(f"fixed:{k}" for k in range(1, 6)), "hybrid:accuracy:0.03:1", "hybrid:alpha:0.0004:1")
FEW: dict[str, Any] = {
    "tasks": ("imdb",),
    "seeds": (1, 2),
    "schedules": ("retrain", "fixed:2", "hybrid:accuracy:0.03:1"),
    "rounds": 3,
}

STUDIES: dict[str, Callable[[Path], StudyFolder]] = {
    "example": made_up_study,
    "regret": lambda path: made_up_study(path, rounds=4, schedules=SWITCHES),
    "tuning": lambda path: made_up_study(path, schedules=("retrain", *GRID), tasks=("imdb",)),
    "pools": lambda path: made_up_study(path, vary=({"initial": 50}, {"initial": 200}), **FEW),
    "samplers": lambda path: made_up_study(path, acquisitions=("entropy", "badge"), **FEW),
    "backbones": lambda path: made_up_study(path, backbones=("bert", "tiny"), **FEW),
    "signals": lambda path: preset_study(path, "signals", tasks=("imdb", "yahoo"), seeds=(1,), rounds=12),
    "main": lambda path: preset_study(
        path, "main", tasks=("imdb", "yahoo", "sst2"), backbones=("bert",), seeds=(1, 2, 3), rounds=4
    ),
}


def preset_study(path: Path, name: str, **few: Any) -> StudyFolder:
    """A preset, made small, on texts that can be read; which of them were acquired is left out."""
    study = preset(name).shrunk(**few)
    folder = write_study(path, study, lambda record: replace(record, acquired=(), scores=()))
    for task, home in {cell.settings.task: folder.task_home(task_key(cell.settings)) for cell in folder.cells}.items():
        shutil.rmtree(home)
        save_task(toy_task(classes=2 + (task == "yahoo")), home)
    return folder


def drawn(axes: Axes) -> dict[str, Any]:
    """What an axes shows, in few numbers: of each line, shape and bar where all its points lie together."""

    def summed(points: Any) -> list[float]:
        found = np.asarray(points, dtype=float).reshape(-1, 2)
        found = found[np.isfinite(found).all(axis=1)]
        return [len(found), *found.sum(axis=0).tolist(), float((found[:, 0] * found[:, 1]).sum())]

    lines = [[str(one.get_color()), str(one.get_marker()), *summed(one.get_xydata())] for one in axes.get_lines()]
    shapes = [path.vertices for one in axes.collections for path in one.get_paths()]
    bars = [one.get_path().transformed(one.get_patch_transform()).vertices for one in axes.patches]
    texts: list[Any] = axes.findobj(match=lambda artist: hasattr(artist, "get_text"))
    words = [text for one in texts if isinstance(text := one.get_text(), str) and text]
    return {
        "lines": lines,
        "shapes": [summed(np.concatenate(paths)) for paths in (shapes, bars) if paths],
        "words": "|".join(words),
        "limits": [*axes.get_xlim(), *axes.get_ylim()],
    }


@contextmanager
def watched() -> Iterator[list[Any]]:
    """Keeps what would be drawn into a page or a file; the pictures themselves, which take longest, are not made."""
    figures: list[Any] = []

    def savefig(self: Figure, file: Any, **options: Any) -> None:
        if options["format"] == "svg":
            file.write(b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" width="1pt" height="1pt"/>')
            figures.append({"size": self.get_size_inches().tolist(), "axes": [drawn(axes) for axes in self.axes]})

    with mock.patch.object(Figure, "savefig", savefig), mock.patch.object(style, "lay_out"):
        yield figures


def page(file: Path, figures: list[Any]) -> dict[str, Any]:
    """All that can be read on a page: its sentences, its tables row by row, and its figures."""
    html = file.read_text(encoding="utf-8")
    read = read_page(html)
    sentences = " ".join(read_page(re.sub(r"<table.*?</table>", "", html, flags=re.DOTALL)).words)
    tables = {name: [" | ".join(map(cell_text, row)) for row in rows] for name, rows in read.tables.items()}
    words = textwrap.wrap(" ".join(sentences.split()), 120)
    return {"words": words, "alts": read.labels, "tables": tables, "figures": figures}


def cell_text(cell: Read) -> str:
    """What a cell shows, its exact value, and marks such as `best`."""
    value = f"={float(cell.value):.7g}" if cell.value else ""
    marks = [f"[{kind}]" for kind in cell.kinds.split() if kind in ("best", "stable")]
    return " ".join(filter(None, (cell.text, value, *marks)))


def study_report(name: str, root: Path) -> dict[str, Any]:
    folder = STUDIES[name](root / "study")
    with watched() as figures:
        report = write_study_report(folder, "paper", name == "example")
    found = page(report, figures)
    tables = {}
    for file in sorted((folder.path / "report" / "tables").glob("*.csv")):
        rows = [
            [float(cell) if re.fullmatch(r"-?[\d.e+-]+", cell) and cell != "-" else cell for cell in row]
            for row in csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
        ]
        shown = file.with_suffix(".md").read_text(encoding="utf-8").splitlines()
        tables[file.stem] = {"shown": shown, "exact": rows}
    files = sorted(path.name for path in (folder.path / "report" / "figures").glob("*"))
    return {**found, "tables": tables, "files": [name for name in files if name.endswith(".svg")]}


def run_reports(root: Path) -> dict[str, Any]:
    """Reports of complete runs, a run with one round, a run without measures, and their comparison."""
    found = {}
    for name, history in {
        "hybrid:accuracy": history_of("hybrid:accuracy:0.005:2"),
        "anchor:0.6": history_of("anchor:0.6", 4),
        "hybrid:alpha": without_measures(history_of("hybrid:alpha:0.0001:3", 3)),
        "retrain": (),
    }.items():
        home = root / name.replace(":", "-")
        home.mkdir(parents=True)
        about = {**ABOUT, "settings": {**ABOUT["settings"], "schedule": name}}
        write_about(home / "run.json", about)
        lines = "".join(strict_json(record.to_json()) + "\n" for record in history)
        (home / "rounds.jsonl").write_text(lines, encoding="utf-8")
        with watched() as figures:
            found[name] = page(write_report(RunFolder(home)), figures)
    histories = histories_of(*SPECS)
    schedules = [make_schedule(spec) for spec in histories]
    with watched() as figures:
        found["comparison"] = page(write_comparison(histories, schedules, ABOUT, root / "comparison.html"), figures)
    return found


def short(value: Any) -> Any:
    """Numbers in seven digits."""
    if isinstance(value, float):
        return 0 if abs(value) < 1e-10 else float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list | tuple) else value


def same(found: Any, stored: Any) -> bool:
    """Whether words are equal and numbers are equal up to rounding."""
    if isinstance(stored, dict):
        return list(found) == list(stored) and all(same(found[key], stored[key]) for key in stored)
    if isinstance(stored, list):
        return len(found) == len(stored) and all(map(same, found, stored))
    if isinstance(stored, float | int) and not isinstance(stored, bool):
        return bool(found == pytest.approx(stored, rel=2e-6, abs=1e-9))
    return bool(found == stored)


def to_text(report: Any) -> str:
    """JSON with a line for each item, but rows of numbers on one line: a diff shows what changed."""
    lines = json.dumps(short(report), ensure_ascii=False, indent=1)
    return re.sub(r"\[[^][{}]*\]", lambda row: one_line(row[0]), lines) + "\n"


def one_line(row: str) -> str:
    """A short list as one line; a list of sentences keeps a line for each."""
    flat = re.sub(r"\n\s*", " ", row)
    return flat if len(flat) <= 200 else row


def check(name: str, found: Any) -> None:
    """Compare with the stored copy; fail with a diff of both texts."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    if not same(short(found), json.loads(text)):
        diff = difflib.unified_diff(text.splitlines(), to_text(found).splitlines(), "stored", "found", lineterm="", n=1)
        pytest.fail("\n".join(islice(diff, MAX_DIFF_LINES)), pytrace=False)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_the_same_report(name: str, tmp_path: Path) -> None:
    check(name, study_report(name, tmp_path))


def test_a_change_is_shown_as_a_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "FOLDER", tmp_path)
    (tmp_path / "s.json").write_text(
        to_text({"words": ["as before", "F1 0.80"], "exact": [[0.8, 1]]}), encoding="utf-8"
    )
    check("s", {"words": ["as before", "F1 0.80"], "exact": [[0.8 + 1e-9, 1]]})
    with pytest.raises(pytest.fail.Exception, match=r"-.*F1 0\.80.*\n\+.*F1 0\.81"):
        check("s", {"words": ["as before", "F1 0.81"], "exact": [[0.8, 1]]})


def test_runs_have_the_same_reports(tmp_path: Path) -> None:
    check("runs", run_reports(tmp_path))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        reports = {"runs": run_reports(Path(place) / "runs")}
        reports |= {name: study_report(name, Path(place) / name) for name in STUDIES}
    for name, report in reports.items():
        (FOLDER / f"{name}.json").write_text(to_text(report), encoding="utf-8")
