from __future__ import annotations

from pathlib import Path

from .conftest import copied, hybridal


def test_report_of_a_run(unbroken: Path, tmp_path: Path) -> None:
    folder = copied(unbroken, tmp_path / "run")
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    ended = hybridal("report", folder)
    assert (ended.code, ended.stdout, ended.stderr) == (0, f"{folder}/report.html\n", "")
    assert (folder / "report.html").read_bytes() == before
    assert b"Report of an active-learning run" in before


def test_report_of_a_comparison(compared: Path, tmp_path: Path) -> None:
    folder = copied(compared, tmp_path / "comparison")
    (folder / "report.html").unlink()
    ended = hybridal("report", folder)
    assert (ended.code, ended.stdout) == (0, f"{folder}/report.html\n")
    assert "Comparison of active-learning schedules" in (folder / "report.html").read_text()


def test_report_of_an_unfinished_run(unbroken: Path, tmp_path: Path) -> None:
    folder = copied(unbroken, tmp_path / "run")
    (folder / "rounds.jsonl").unlink()
    assert hybridal("report", folder).code == 0
    assert "No round is complete yet" in (folder / "report.html").read_text()


def test_report_of_another_folder_is_refused(tmp_path: Path) -> None:
    ended = hybridal("report", tmp_path)
    assert (ended.code, ended.stderr) == (2, f"hybridal: {tmp_path} is not a run folder: it has no run.json.\n")
