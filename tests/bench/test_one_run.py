from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import one_run
from hybridal.cli.main_app import app


def test_seconds_of_a_run_and_its_phases_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def here(words: list[str], check: bool) -> None:
        """The command's work in this process, which has imported everything."""
        few = ("--set", "initial=8", "--set", "max_epochs=1")
        ended = CliRunner().invoke(app, [*words[3:], *few])
        assert (check, ended.exit_code) == (True, 0), ended.output

    monkeypatch.setattr(subprocess, "run", here)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    one_run.main(["--rounds", "1", "--times", "1"])
    lines = capsys.readouterr().out.splitlines()
    parts = ("by the clock", "start", "computing", "after the last round")
    for line, part in zip(lines, parts, strict=True):
        assert line.startswith(f"tiny size, 1 rounds, 1 steps: {part}")
    clock, *others = (float(line.split()[-5]) for line in lines)
    assert min(others) > 0
    assert sum(others) == pytest.approx(clock, abs=0.02)  # as printed, each to a hundredth


def test_the_command_names_all_that_the_run_needs() -> None:
    texts = {"task": "train.csv", "text": "text", "label": "label", "validation": "v.csv", "test": "t.csv"}
    words = one_run.command(texts, Path("encoder"), 8, "cuda", Path("home"))
    assert words[2:5] == ["hybridal", "run", "train.csv"]
    pairs = dict(zip(words[5:-1:2], words[6:-1:2], strict=True))
    assert pairs["--rounds"] == "8"
    assert (pairs["--validation"], pairs["--device"], words[-1]) == ("v.csv", "cuda", "--quiet")
