from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from hybridal.app.db.schema import Class, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.consensus import counts
from hybridal.app.people import project_owner
from hybridal.app.project import Project
from hybridal.cli.label_command import PASSWORD_VARIABLE
from hybridal.errors import UserError
from hybridal.runs.settings import DEMO
from hybridal.tasks import load_task
from hybridal.testing.small import toy_task

from ..app.made_up import create
from .conftest import hybridal


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of the server, which is not started."""
    calls: list[dict[str, Any]] = []

    def serve(project: Project, **options: Any) -> None:
        with project.reads() as session:
            names = [one.name for one in classes.active(session)]
            options |= {"settings": project.settings(), "classes": names, "texts": session.query(Text).count()}
        calls.append({**options, "folder": project.folder})
        options["announce"]("http://here/")
        project.close()

    monkeypatch.setattr("hybridal.app.serve.serve", serve)
    return calls


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    path = tmp_path / "tickets.csv"
    path.write_text("body,kind\nIt crashes,bug\nPlease add,\nHow do I,question\n")
    return path


def test_file_becomes_a_project_next_to_it(tickets: Path, served: list[dict[str, Any]]) -> None:
    ended = hybridal(
        *("label", tickets, "--text", "body", "--label", "kind", "--classes", "bug, feature, question"),
        *("--budget", 100, "--batch", 8, "--validation-first", 10, "--overlap", 0.1, "--backbone", "tiny"),
        *("--schedule", "fixed:3", "--port", 8123, "--no-browser", "--behind-proxy"),
    )
    assert ended.code == 0, ended.stderr
    assert "Label at http://here/" in ended.stdout
    [call] = served
    assert call["folder"] == tickets.with_suffix(".hybridal")
    assert (call["port"], call["browser"], call["host"], call["texts"]) == (8123, False, "127.0.0.1", 3)
    assert call["behind_proxy"] is True
    assert call["classes"] == ["bug", "feature", "question"]
    chosen = {name: call["settings"][name] for name in ("budget", "batch", "validation_first", "overlap")}
    assert chosen == {"budget": 100, "batch": 8, "validation_first": 10, "overlap": 0.1}
    assert (call["settings"]["backbone"], call["settings"]["schedule"]) == ("tiny", "fixed:3")


def test_a_messy_file_with_labels_that_are_only_suggested(tmp_path: Path, served: list[dict[str, Any]]) -> None:
    path = tmp_path / "tickets.csv"
    path.write_bytes("body;kind;who\nGrüße;bug;Ada\n;bug;\nGrüße;;Bo\nWie?;question;\n".encode("cp1252"))
    asked = ("label", path, "--text", "body", "--label", "kind", "--drop-empty", "--drop-duplicates", "--suggested")
    assert hybridal(*asked).code == 0
    [call] = served
    assert (call["texts"], call["classes"], call["settings"]["columns"]) == (2, ["bug", "question"], ["who"])
    opened = Project.open(path.with_suffix(".hybridal"))
    with opened.reads() as session:
        assert counts(session)["labelled"] == 0
    opened.close()


def test_the_kind_of_a_project_is_fixed(tickets: Path, served: list[dict[str, Any]]) -> None:
    assert hybridal("label", tickets, "--text", "body", "--classes", "bug,question").code == 0
    ended = hybridal("label", tickets, "--multi-label")
    assert (ended.code, "--multi-label" in ended.stderr, "make a new project" in ended.stderr) == (2, True, True)
    assert [call["settings"]["multi_label"] for call in served] == [False]


def test_project_opens_without_its_source_file(tickets: Path, served: list[dict[str, Any]]) -> None:
    hybridal("label", tickets, "--text", "body", "--classes", "bug,question")
    tickets.unlink()
    hybridal("label", tickets, "--text", "body", "--classes", "bug,feature", "--budget", 7)
    hybridal("label", tickets.with_suffix(".hybridal"))
    assert [call["texts"] for call in served] == [3, 3, 3]
    assert [call["classes"] for call in served][1:] == [["bug", "question", "feature"]] * 2
    assert [call["settings"]["budget"] for call in served] == [800, 7, 7]


def test_a_folder_that_cannot_classify_texts_is_refused_before_the_app_starts(
    tmp_path: Path, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(command: list[str], _seconds: float) -> None:
        raise UserError(f"{command[2]} refuses {command[3]}.")

    monkeypatch.setattr("hybridal.system.child_check.require_success", refuse)
    (tmp_path / "config.json").write_text("{}")
    ended = hybridal("label", "--no-browser", "--backbone", tmp_path)
    assert (ended.code, ended.stderr) == (2, f"hybridal: hybridal.models.encoder_check refuses {tmp_path}.\n")
    assert served == []


def test_without_a_file_the_start_page_of_this_folder_is_served(
    tmp_path: Path, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Path, dict[str, Any]]] = []
    monkeypatch.setattr("hybridal.app.serve.serve_folder", lambda folder, **options: calls.append((folder, options)))
    monkeypatch.chdir(tmp_path)
    ended = hybridal("label", "--port", 8123, "--no-browser", "--backbone", "tiny")
    assert ended.code == 0, ended.stderr
    [(folder, options)] = calls
    assert (folder, options["port"], options["browser"]) == (tmp_path, 8123, False)
    assert options["settings"] == {"backbone": "tiny"}
    ended = hybridal("label", "--classes", "a,b")
    assert (ended.code, "--classes needs a file" in ended.stderr) == (2, True), ended.stderr
    # In the folder of a project, that project is opened.
    create(tmp_path / "p").close()
    monkeypatch.chdir(tmp_path / "p")
    assert hybridal("label").code == 0
    assert [call["texts"] for call in served] == [20]


def test_a_new_project_without_a_file_is_the_demo(
    tmp_path: Path, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def demo(name: str, **options: Any) -> object:
        asked.append((name, options))
        return toy_task()

    assert callable(load_task)
    monkeypatch.setattr("hybridal.app.labelling.text_source.load_task", demo)
    ended = hybridal("label", "--project", tmp_path / "demo.hybridal")
    assert ended.code == 0, ended.stderr
    assert asked == [("newsgroups", {"classes": DEMO.classes})]
    [call] = served
    assert (call["texts"], call["classes"]) == (len(toy_task().train), list(toy_task().classes))
    assert "Encoder: minilm.\n" in ended.stdout  # needs no hub


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--text", "words"], "'words'"),
        (["--text", "body", "--batch", "0"], "at least 1"),
        (["--text", "body", "--overlap", "2"], "between 0 and 1"),
        (["--text", "body", "--schedule", "hybrid:moon"], "moon"),
        (["--text", "body", "--backbone", "minillm"], "did you mean 'minilm'?"),
        (["--text", "body", "--backbone", "auto:minilm,./nowhere"], "./nowhere"),
        (["--text", "body", "--db", "mysql://x/y"], "--db"),
        (["--text", "body", "--classes", "bug"], "two or more"),
        (["--text", "body", "--sign-in-header", "X-User"], "--behind-proxy"),
        (["--text", "body", "--sign-in-header", "X-User", "--behind-proxy"], "--owner: give the name under which"),
    ],
)
def test_bad_input_is_refused_and_leaves_no_project(
    tickets: Path, served: list[dict[str, Any]], options: list[str], words: str
) -> None:
    ended = hybridal("label", tickets, *options)
    assert (ended.code, words in ended.stderr) == (2, True), ended.stderr
    assert served == []
    assert hybridal("label", tickets, "--text", "body").code == 0


def test_a_folder_that_cannot_be_created_is_named(tickets: Path, served: list[dict[str, Any]]) -> None:
    for folder in (tickets, tickets / "inside"):
        ended = hybridal("label", tickets, "--text", "body", "--project", folder)
        assert (ended.code, f"The folder {folder} cannot be created (" in ended.stderr) == (2, True), ended.stderr
    assert served == []


def test_others_are_let_in_only_where_everybody_has_a_password(
    tickets: Path, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("label", tickets, "--text", "body", "--host", "0.0.0.0")
    ended = hybridal(*command)
    assert (ended.code, PASSWORD_VARIABLE in ended.stderr) == (2, True)
    monkeypatch.setenv(PASSWORD_VARIABLE, "short")
    assert "8 to 200 characters" in hybridal(*command).stderr
    monkeypatch.setenv(PASSWORD_VARIABLE, "correct horse")
    assert "not available" in hybridal(*command[:-1], "192.0.2.1").stderr
    assert not tickets.with_suffix(".hybridal").exists(), "what was refused left something behind"
    assert hybridal(*command).code == 0
    monkeypatch.delenv(PASSWORD_VARIABLE)
    assert hybridal(*command).code == 0  # it is kept
    assert [call["host"] for call in served] == ["0.0.0.0"] * 2


def test_sign_in_header_option_needs_the_owners_name_once(tickets: Path, served: list[dict[str, Any]]) -> None:
    command = ("label", tickets, "--text", "body", "--host", "0.0.0.0", "--behind-proxy", "--sign-in-header", "X-User")
    assert hybridal(*command, "--owner", "ada@example.org").code == 0
    assert hybridal(*command).code == 0
    assert [call["sign_in_header"] for call in served] == ["X-User"] * 2
    opened = Project.open(tickets.with_suffix(".hybridal"))
    with opened.reads() as session:
        assert project_owner(session).name == "ada@example.org"
    opened.close()


@pytest.mark.parametrize("ignored", [False, True], ids=["in front", "in the background of a script"])
def test_two_servers_never_share_a_project_and_an_interrupt_ends_all_of_it(tickets: Path, ignored: bool) -> None:
    context = multiprocessing.get_context("fork")
    told, tell = context.Pipe(duplex=False)

    def run() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hybridal.cli.label_command.announce", tell.send)
            ended = hybridal("label", tickets, "--text", "body", "--port", 0, "--no-browser")
        tell.send((ended.code, ended.stdout))

    process = context.Process(target=run)
    process.start()
    tell.close()
    assert process.pid is not None
    try:
        assert told.poll(60)
        assert told.recv().startswith("http://127.0.0.1:")
        second = hybridal("label", tickets)
        assert second.code == 3
        assert f"in use by process {process.pid}" in second.stderr
        children = _children(process.pid)
        os.kill(process.pid, signal.SIGINT)
        assert told.poll(60)
        code, output = told.recv()
        assert code == 0
        assert "Stopped. Resume with the same command." in output
        process.join(60)
    finally:
        process.kill()  # one that was left behind would hold the pipes of other tests open
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    opened = Project.open(tickets.with_suffix(".hybridal"))
    with opened.reads() as session:
        assert (session.query(Text).count(), session.query(Class).count()) == (3, 0)
    opened.close()


def _children(pid: int) -> list[int]:
    """The processes that the threads of a process have started."""
    for _ in range(100):
        found = [int(one) for file in Path(f"/proc/{pid}/task").glob("*/children") for one in file.read_text().split()]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("No trainer was started.")


def test_a_file_with_several_labels_becomes_such_a_project(tmp_path: Path, served: list[dict[str, Any]]) -> None:
    path = tmp_path / "tickets.csv"
    path.write_text("text,bug,idea\nIt crashes,1,1\nHello,0,0\n")
    ended = hybridal("label", str(path), "--label", "bug", "--label", "idea", "--no-browser")
    assert (ended.code, served[-1]["settings"]["multi_label"], served[-1]["classes"]) == (0, True, ["bug", "idea"])
    ended = hybridal("label", str(path), "--multi-label", "--no-browser")
    assert (ended.code, served[-1]["texts"]) == (0, 2)


def test_a_project_keeps_its_kind(tickets: Path, served: list[dict[str, Any]]) -> None:
    assert hybridal("label", str(tickets), "--text", "body", "--label", "kind", "--no-browser").code == 0
    ended = hybridal("label", str(tickets), "--multi-label", "--no-browser")
    assert (ended.code, "fixed when a project is made" in ended.stderr) == (2, True)
