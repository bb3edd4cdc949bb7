from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from hybridal import ActiveLearner
from hybridal.measures.shares.share_table import FEWEST
from hybridal.testing.small import toy_task

from .conftest import BEST, hybridal
from .laboratory import Laboratory, write_rows


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy task with a date, a branch and a price."""
    rows = toy_task(train=240).train
    names = toy_task().classes
    body = [
        (id, text, names[label], f"2024-{1 + number % 2:02}-15", "ns"[number % 3 == 0], str(number / 10))
        for number, (id, text, label) in enumerate(zip(rows.ids, rows.texts, rows.labels, strict=True))
    ]
    header = ["id", "text", "label", "sent", "branch", "price"]
    return write_rows(tmp_path_factory.mktemp("dated") / "mail.csv", header, body)


@pytest.fixture(scope="module")
def run(laboratory: Laboratory, dated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose validation texts were drawn between those that the model chose."""
    folder = tmp_path_factory.mktemp("estimated") / "run"
    options = ("--label", "label", "--id", "id", *BEST, "--set", "validation_share=0.6", "--initial", "60")
    ended = laboratory.run("run", dated, *options, "--out", folder)
    assert ended.code == 0, ended.stderr
    return folder


def test_shares_of_all_texts(run: Path) -> None:
    ended = hybridal("estimate", run, "--device", "cpu")
    assert (ended.code, ended.stderr) == (0, "")
    blocks = ended.stdout.split("\n\n")
    for heading in ("of  ", "class", "random labels alone (95%)", "estimate (95%)", "counted by the model"):
        assert heading in blocks[0]
    assert blocks[1].startswith("Shares\nall texts  food")
    assert "times as wide as from random labels alone" in blocks[2]
    assert "prediction-powered" in blocks[3]


def test_groups_for_programs(run: Path) -> None:
    found = json.loads(hybridal("estimate", run, "--by", "branch", "--within", "5", "--json", "--device", "cpu").stdout)
    assert (found["by"], found["groups"], found["confidence"]) == ("branch", ["n", "s"], 0.95)
    assert {line["kind"] for line in found["lines"]} == {"share", "difference"}
    assert found["basis"]["labels"] >= FEWEST
    assert found["more_labels"] > 0
    low, high = (found["lines"][0]["estimate"][end] for end in ("low", "high"))
    assert 0 <= low < 0.5 < high <= 1


def test_a_trend_of_one_class_in_files(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "figures"
    ended = hybridal("estimate", run, "--by", "month:sent", "--class", "sport", "--out", out, "--device", "cpu")
    assert ended.code == 0, ended.stderr
    assert "Trend in points per month" in ended.stdout
    assert f"{out / 'shares.png'}" in ended.stdout
    frame = pd.read_csv(out / "shares.csv")
    assert frame["class"].unique().tolist() == ["sport"]
    assert frame["of"].tolist() == ["all texts", "2024-01", "2024-02", "2024-02 − 2024-01", "all texts"]


def test_a_column_of_another_file(run: Path, tmp_path: Path) -> None:
    rows = toy_task(train=240).train
    other = write_rows(
        tmp_path / "more.csv", ["text", "key", "x"], [["-", id, str(at % 4)] for at, id in enumerate(rows.ids)]
    )
    ended = hybridal("estimate", run, "--by", "x", "--data", other, "--id", "key", "--json", "--device", "cpu")
    assert json.loads(ended.stdout)["groups"] == ["0", "1", "2", "3"]
    ended = hybridal("estimate", run, "--by", "x", "--data", other, "--id", "x", "--device", "cpu")
    assert ended.code == 2


def test_a_learner_that_was_saved(tmp_path: Path) -> None:
    task = toy_task()
    learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
    learner.teach(task.answers(task.train.ids[:30]))
    ended = hybridal("estimate", learner.save(tmp_path / "learner"), "--json", "--device", "cpu")
    found = json.loads(ended.stdout)
    assert (found["basis"]["texts"], found["basis"]["labels"]) == (160, 40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "month:branch"], "in the column 'branch' is no date"),
        (["--by", "gone"], "has no column 'gone'"),
        (["--by", "price"], "--by: The column 'price' divides the texts into 192 groups"),
        (["--class", "space"], "--class: There is no class 'space'"),
        (["--confidence", "95"], "must be a share between 0 and 1"),
        (["--within", "0"], "--within must be a number of percentage points"),
    ],
)
def test_what_cannot_be_estimated(run: Path, options: list[str], message: str) -> None:
    ended = hybridal("estimate", run, *options, "--device", "cpu")
    assert ended.code == 2
    assert message in ended.stderr


def test_folders_without_an_estimate(compared: Path, tmp_path: Path, run: Path) -> None:
    assert "is a comparison" in hybridal("estimate", compared).stderr
    assert "is not a run folder" in hybridal("estimate", tmp_path).stderr
    (tmp_path / "taken").write_text("")
    ended = hybridal("estimate", run, "--out", tmp_path / "taken", "--device", "cpu")
    assert "is a file; name a folder" in ended.stderr
