from __future__ import annotations

from pathlib import Path

import pytest

from bench import one_run


def test_the_seconds_of_a_run_are_told_beside_those_of_its_rounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, ran = one_run.command, list[list[str]]()

    def smaller(texts: dict[str, str], backbone: Path, rounds: int, device: str, home: Path) -> list[str]:
        ran.append([*real(texts, backbone, rounds, device, home), "--set", "initial=8", "--set", "max_epochs=1"])
        return ran[-1]

    monkeypatch.setattr(one_run, "command", smaller)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    one_run.main(["--rounds", "1", "--times", "1"])
    clock, computing = capsys.readouterr().out.splitlines()
    assert clock.startswith("tiny size, 1 rounds, 1 steps: by the clock")
    assert computing.startswith("tiny size, 1 rounds, 1 steps: computing")
    assert 0 < float(computing.split()[-5]) < float(clock.split()[-5])
    assert [words[3] for words in ran] == ["run"]
