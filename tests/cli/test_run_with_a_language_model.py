"""`hybridal run --annotator llm`: a model labels, people label a share and the validation texts."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridal.runs import checkpoint
from hybridal.runs.record import RunFolder
from hybridal.testing.small import toy_task

from ..helpers.chat_server import ChatServer, Sends, chat_server, labels
from .conftest import SMALL, hybridal
from .laboratory import write_rows

TASK = toy_task()
CLASSES = ("--classes", "sport,food", "--id", "id", "--label", "label")
TRUE = {text: TASK.classes[label] for text, label in zip(TASK.train.texts, TASK.train.labels, strict=True)}


def right(body: dict[str, Any]) -> Sends:
    return labels(TRUE[json.loads(body["messages"][1]["content"])["text"]])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.delenv("HYBRIDAL_LLM_KEY", raising=False)
    monkeypatch.delenv("HYBRIDAL_LLM_URL", raising=False)
    monkeypatch.setattr("hybridal.annotators.llm.chat_client.Throttle.wait", lambda _: None)
    with chat_server(right) as found:
        yield found


def options(server: ChatServer, *more: object) -> list[object]:
    return ["--annotator", "llm", "--llm-url", server.url, "--llm-model", "m", *SMALL, *more]


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]


def texts_file(path: Path, labelled: int = 0) -> Path:
    answers = TASK.answers(TASK.train.ids)
    rows = [
        (id, text, answers[id] if n < labelled else "")
        for n, (id, text) in enumerate(zip(TASK.train.ids, TASK.train.texts, strict=True))
    ]
    write_rows(path, ["id", "text", "label"], rows)
    return path


def test_texts_without_any_label_are_labelled_by_the_model_alone(server: ChatServer, tmp_path: Path) -> None:
    file, guidelines = texts_file(tmp_path / "t.csv"), tmp_path / "guide.txt"
    guidelines.write_text("Food is what people eat.")
    asked = [*CLASSES, "--llm-price", 2, "--llm-guidelines", guidelines]
    done = hybridal("run", file, *asked, *options(server, "--out", tmp_path / "run", "--set", "validation=none"))
    assert done.code == 0, done.stderr
    assert "m labelled 24 of 24 texts with 960 tokens, which cost 0.00." in done.stdout
    rounds = history(tmp_path / "run")
    assert [(one["labels"], one["by_model"]) for one in rounds] == [(12, 12), (16, 16), (20, 20), (24, 24)]
    assert {one["validation"] for one in rounds} == {None}
    assert "Food is what people eat." in server.asked[0]["messages"][0]["content"]


def test_a_killed_run_asks_nothing_twice(server: ChatServer, tmp_path: Path) -> None:
    file = texts_file(tmp_path / "t.csv")
    asked = [*CLASSES, "--set", "validation=none"]
    assert hybridal("run", file, *asked, *options(server, "--out", tmp_path / "run")).code == 0
    whole, questions = history(tmp_path / "run"), len(server.asked)
    for left in ("checkpoint", "model", "report.html"):
        path = tmp_path / "run" / left
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (tmp_path / "run" / "rounds.jsonl").unlink()
    assert hybridal("resume", tmp_path / "run").code == 0
    again = history(tmp_path / "run")
    assert [{**one, "seconds": {}} for one in again] == [{**one, "seconds": {}} for one in whole]
    assert len(server.asked) == questions


def test_people_label_validation_and_a_share_in_a_file(server: ChatServer, tmp_path: Path) -> None:
    """All texts have labels in the file, which stand for people: the model gets the others."""
    file = texts_file(tmp_path / "t.csv", labelled=120)
    more = (
        "--out",
        tmp_path / "run",
        "--overlap",
        "0.5",
        "--set",
        "validation=share",
        "--set",
        "validation_share=0.25",
    )
    done = hybridal("run", file, "--id", "id", "--label", "label", *options(server, *more))
    assert done.code == 0, done.stderr
    saved = checkpoint.load(RunFolder.open(tmp_path / "run").checkpoint)
    assert saved is not None
    pool = saved[0].pool
    assert 0 < len(pool.by_model) < len(pool)
    assert len(pool.measured())
    assert not {*pool.measured().tolist()} & {*pool.by_model.tolist()}
    assert len(pool.compared()[0]) >= 5
    assert all(draw.drawn.tolist() for draw in pool.random_draws())


def test_a_run_ends_with_the_errors_of_the_model_and_what_more_labels_cost_and_bring(
    server: ChatServer, tmp_path: Path
) -> None:
    """The model says sport of every text."""
    server.reply = lambda _body: labels("sport")
    file = texts_file(tmp_path / "t.csv", labelled=120)
    prices = ("--llm-price", 100, "--label-price", 0.2, "--overlap", "0.75", "--initial", 24)
    more = ("--out", tmp_path / "run", "--set", "validation=share", "--set", "validation_share=0.25")
    done = hybridal("run", file, "--id", "id", "--label", "label", *options(server, *prices, *more))
    assert done.code == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "m agrees with people on " in said
    assert " texts that both labelled." in said
    assert "It gives 'sport' too often: right in " in said
    assert "more labels by people cost " in said
    assert " labels by the model cost " in said
    assert "What they bring is not known yet." in said  # its classifier only guesses


def test_the_labels_of_a_file_are_those_of_people_and_an_exam_for_the_model(server: ChatServer, tmp_path: Path) -> None:
    file = texts_file(tmp_path / "t.csv", labelled=40)
    asked = ["--id", "id", "--label", "label", "--out", tmp_path / "run", "--set", "validation=none"]
    done = hybridal("run", file, *asked, *options(server))
    assert done.code == 0, done.stderr
    assert [(one["labels"], one.get("by_model", 0)) for one in history(tmp_path / "run")][:2] == [(40, 0), (44, 4)]
    saved = checkpoint.load(RunFolder.open(tmp_path / "run").checkpoint)
    assert saved is not None
    assert len(saved[0].pool.compared()[0]) == 40
    shown = json.dumps(server.asked[0]["messages"])
    assert "Texts that people labelled" in shown


def test_a_run_ends_when_the_budget_is_used_up(server: ChatServer, tmp_path: Path) -> None:
    file = texts_file(tmp_path / "t.csv")
    asked = [*CLASSES, "--set", "validation=none"]
    more = ("--out", tmp_path / "run", "--llm-budget-tokens", "1100")
    done = hybridal("run", file, *asked, *options(server, *more))
    assert done.code == 0, done.stderr
    assert "Its budget is used up." in done.stdout
    rounds = history(tmp_path / "run")
    assert rounds[-1]["labels"] < 24
    assert len(rounds) < 4 or rounds[-1]["label_changes"]["added"] == 0


def test_a_missing_model_names_its_option(tmp_path: Path) -> None:
    file = texts_file(tmp_path / "t.csv")
    done = hybridal("run", file, *CLASSES, "--annotator", "llm", *SMALL, "--dry-run")
    assert (done.code, "--llm-model is empty; name a model of the server." in done.stderr) == (2, True), done.stderr


def test_labels_csv_says_who_gave_each_label(server: ChatServer, tmp_path: Path) -> None:
    from hybridal import ActiveLearner, LlmAnnotator

    learner = ActiveLearner(TASK, "tiny", protocol="quick", schedule="retrain", device="cpu", batch=4)
    learner.teach(TASK.answers(TASK.train.ids[:4]), update=False)
    learner.run(LlmAnnotator("m", server.url, per_minute=1e6), rounds=1)
    folder = learner.save(tmp_path / "learner")
    with (folder / "labels.csv").open(newline="") as rows:
        by = [row["by"] for row in csv.DictReader(rows) if row["split"] == "train"]
    assert by.count("people") == 4
    assert by.count("model") == len(by) - 4 > 0
    assert ActiveLearner.load(folder).pool.by_model.tolist() == learner.pool.by_model.tolist()
