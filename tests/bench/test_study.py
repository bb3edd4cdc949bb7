from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import study
from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders.bert import Bert
from hybridal.models.encoders.mpnet import MPNet
from hybridal.testing.small import toy_task

WHOLE = """
import sys
from pathlib import Path
from hybridal.lab.study.engines import Here
from hybridal.lab.study.run_study_cells import begin_study, run_study
from hybridal.lab.study.study import read_study

small = {"initial": 8, "candidates": 64, "max_epochs": 1}
run_study(begin_study(read_study(Path(sys.argv[1])).shrunk(device="cpu", overrides=small), Path(sys.argv[2])), Here())
"""


def test_cost_of_a_study_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = study.command

    def smaller(asked: study.Asked, texts: dict[str, str], backbone: Path, home: Path) -> list[str]:
        """What the command does, with fewer steps and without a report."""
        words = command(asked, texts, backbone, home)
        return [sys.executable, "-c", WHOLE, words[5], words[7]]

    monkeypatch.setattr(study, "command", smaller)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    out = tmp_path / "study.json"
    assert study.main(["--seeds", "2", "--rounds", "2", "--out", str(out)]) == 0
    figures = {row["name"].partition(": ")[2]: row for row in json.loads(out.read_text())["figures"]}
    assert figures["steps"]["value"] == 2 * (1 + 3)  # 8 labels, then 32 more, in batches of 16: twice
    assert figures["all in"]["unit"] == "steps/s"
    around = figures["until the first round was done"]["value"] + figures["after the last one"]["value"]
    assert 0 < around < figures["by the clock"]["value"]


@pytest.mark.parametrize(("size", "kind"), [("tiny", Bert), ("mpnet", MPNet)])
def test_encoders_are_of_kinds_that_we_know(
    size: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(study.SIZES, size, (1, 64))
    task = toy_task()
    study.write_backbone(size, task, tmp_path)
    found = Classifier(Backbone(size, tmp_path), task.classes, 1, Device("cpu", "fp32"), pooling="mean")
    assert isinstance(found.module.body, kind)


def test_the_command_is_that_of_a_study(tmp_path: Path) -> None:
    asked = study.Asked(2, 3, "tiny", "cuda", lanes=16, processes=4, signals=("alpha",))
    _, _, program, *words = study.command(asked, {"task": "mail.csv"}, tmp_path / "encoder", tmp_path / "one")
    assert (program, words[:2]) == ("hybridal", ["study", "run"])
    assert words[-6:] == ["--device", "cuda", "--workers", "16", "--processes-per-gpu", "4"]
    written = json.loads(Path(words[2]).read_text())
    assert (written["overrides"], written["seeds"], written["signals"]) == ({"rounds": 3}, [0, 1], ["alpha"])
