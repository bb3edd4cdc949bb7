from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybridal.cli.label_command import PASSWORD_VARIABLE
from hybridal.system.lock import locked

from .conftest import hybridal


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of the server, which is not started."""
    calls: list[dict[str, Any]] = []

    def serve_folder(folder: Path, **options: Any) -> None:
        calls.append({**options, "folder": folder})
        options["announce"]("http://here/")

    monkeypatch.setattr("hybridal.app.serve.serve_folder", serve_folder)
    return calls


def test_a_folder_is_served_and_made_where_there_is_none(tmp_path: Path, served: list[dict[str, Any]]) -> None:
    folder = tmp_path / "all"
    ended = hybridal("serve", folder, "--trainers", 2, "--backbone", "tiny", "--port", 8123, "--no-browser")
    assert ended.code == 0, ended.stderr
    assert "Start page: http://here/" in ended.stdout
    [call] = served
    assert folder.is_dir()
    assert (call["folder"], call["trainers"], call["settings"]) == (folder, 2, {"backbone": "tiny"})
    assert (call["port"], call["browser"], call["password"]) == (8123, False, None)


def test_others_are_let_in_by_a_password_alone(
    tmp_path: Path, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    ended = hybridal("serve", tmp_path / "all", "--host", "0.0.0.0")
    assert (ended.code, PASSWORD_VARIABLE in ended.stderr) == (2, True)
    assert not (tmp_path / "all").exists()
    monkeypatch.setenv(PASSWORD_VARIABLE, "correct horse")
    assert hybridal("serve", tmp_path / "all", "--host", "0.0.0.0").code == 0
    assert served[0]["password"] == "correct horse"


def test_a_proxy_that_signs_people_in_knows_who_runs_the_server(tmp_path: Path, served: list[dict[str, Any]]) -> None:
    command = ("serve", tmp_path / "all", "--host", "0.0.0.0", "--sign-in-header", "X-User")
    assert "behind-proxy" in hybridal(*command, "--owner", "ada").stderr
    assert "--owner: give the name under which" in hybridal(*command, "--behind-proxy").stderr
    assert "--sign-in-header" in hybridal("serve", tmp_path / "all", "--owner", "ada").stderr
    assert not (tmp_path / "all").exists()
    assert hybridal(*command, "--behind-proxy", "--owner", " ada ").code == 0
    [call] = served
    assert (call["sign_in_header"], call["owner"], call["password"]) == ("X-User", "ada", None)


def test_a_project_itself_and_a_folder_in_use_are_refused(tmp_path: Path, served: list[dict[str, Any]]) -> None:
    (tmp_path / "project.json").write_text("{}")
    ended = hybridal("serve", tmp_path)
    assert (ended.code, "hybridal label" in ended.stderr) == (2, True)
    (tmp_path / "project.json").unlink()
    with locked(tmp_path / ".serve.lock", tmp_path):
        assert "is in use" in hybridal("serve", tmp_path).stderr
    assert "did you mean 'minilm'?" in hybridal("serve", tmp_path, "--backbone", "minillm").stderr
    assert "cannot be created (" in hybridal("serve", tmp_path / ".serve.lock").stderr
    assert served == []
