from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import study
from hybridal.study.engines import Here
from hybridal.study.run import begin_study, run_study
from hybridal.study.study import Study


def test_steps_and_cells_of_all_processes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[study.Asked] = []

    def start(asked: study.Asked, texts: dict[str, str], backbone: Path, home: Path) -> subprocess.Popen[bytes]:
        """What the command does, here: its own start takes seconds."""
        made.append(asked)
        rules: dict[str, Any] = {"rounds": asked.rounds, "initial": 8, "candidates": 64, "max_epochs": 1}
        small = Study(home.name, (texts,), ("retrain",), (str(backbone),), seeds=tuple(asked.seeds), overrides=rules)
        run_study(begin_study(small.shrunk(device="cpu"), home), Here())
        return subprocess.Popen([sys.executable, "-c", ""])

    monkeypatch.setattr(study, "start", start)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    out = tmp_path / "study.json"
    assert study.main(["--processes", "2", "--seeds", "1", "--rounds", "2", "--out", str(out)]) == 0
    assert [list(asked.seeds) for asked in made] == [[0], [1]]
    figures = {row["name"].partition(": ")[2]: row for row in json.loads(out.read_text())["figures"]}
    assert figures["steps"]["value"] == 2 * (1 + 3)  # 8 labels, then 32 more, in batches of 16: twice
    assert figures["all in"]["unit"] == "steps/s"


def test_the_command_is_that_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command: ran.append(command))
    asked = study.Asked(range(2), 3, "tiny", "cpu", 4, ("alpha",))
    study.start(asked, {"task": "mail.csv"}, tmp_path / "encoder", tmp_path / "one")
    [(_, _, program, *words)] = ran
    assert (program, words[:2], words[-4:]) == ("hybridal", ["study", "run"], ["--device", "cpu", "--workers", "4"])
    assert json.loads(Path(words[2]).read_text())["overrides"] == {"rounds": 3}
