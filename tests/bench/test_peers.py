from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench import peer_tables, peers
from bench.contenders import our_curve, peer_curves
from bench.contenders.curves import Question, dump, play
from bench.page import BEGIN, END
from hybridal import ActiveLearner
from hybridal.backbones.backbone import Backbone
from hybridal.errors import RunError
from hybridal.testing.small import toy_task


def question(learner: str, counts: tuple[int, ...] = (10, 16)) -> Question:
    task = toy_task()
    texts, labels = [*task.train.texts], task.train.labels.tolist()
    return Question(learner, [*task.classes], texts, labels, [*task.test.texts], [*counts], "tiny", 16, 1, 7)


def test_labels_are_drawn_at_random_or_as_many_of_each_class() -> None:
    asked = question("tfidf")
    labels = np.array(asked.labels)
    order = peer_curves.drawn(asked)
    assert sorted(order.tolist()) == [*range(len(labels))]
    assert (order == peer_curves.drawn(asked)).all()
    classes = len(asked.classes)
    balanced = labels[peer_curves.drawn(asked, balanced=True)]
    assert sorted(balanced[:classes].tolist()) == sorted(balanced[classes : 2 * classes].tolist()) == [*range(classes)]


def test_the_first_labels_have_two_classes() -> None:
    """A logistic regression cannot be fitted to one."""
    asked = question("tfidf", (2,))
    skewed = Question(**{**asked.__dict__, "labels": [0] * (len(asked.labels) - 1) + [1]})
    rows = peer_curves.drawn(skewed)
    assert {skewed.labels[row] for row in rows[:2]} == {0, 1}
    assert sorted(rows.tolist()) == [*range(len(skewed.labels))]


@pytest.mark.parametrize("curve", [peer_curves.tfidf, our_curve.auto])
def test_a_curve_has_the_probabilities_of_all_test_texts_after_each_number_of_labels(curve: object) -> None:
    asked = question("tfidf")
    points = [*curve(asked)]  # type: ignore[operator]
    assert len(points) == 2
    for found in points:
        assert found.shape == (len(asked.test), len(asked.classes))
        assert found.sum(axis=1) == pytest.approx(1.0)


def test_our_learner_gets_no_more_labels_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    taught: list[int] = []
    real = ActiveLearner.teach

    def teach(learner: object, labels: dict[str, str]) -> object:
        taught.append(len(labels))
        return real(learner, labels)  # type: ignore[arg-type]

    monkeypatch.setattr(our_curve, "BATCH", 6)
    monkeypatch.setattr(ActiveLearner, "teach", teach)
    for count, _ in zip((10, 16), our_curve.auto(question("auto")), strict=True):
        assert sum(taught) == count


def test_a_contender_writes_its_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asked").write_text(dump([question("tfidf"), question("tfidf", (12,))]))
    monkeypatch.setattr(sys, "argv", ["play", str(tmp_path / "asked"), str(tmp_path / "answer")])
    play(peer_curves.LEARNERS)
    answer = json.loads((tmp_path / "answer").read_text())
    assert [[point["labels"] for point in curve] for curve in answer["curves"]] == [[10, 16], [12]]
    assert answer["megabytes"] > 0


def results() -> pd.DataFrame:
    """Two tasks and two seeds; the other learner lacks a cell."""
    rows = [
        {
            "task": task,
            "learner": learner,
            "seed": seed,
            "labels": 50,
            "f1": f1 + 0.1 * (task == "b") + 0.02 * (seed == 2),
        }
        for learner, f1 in (("hybridal", 0.8), ("frozen", 0.6))
        for task in "ab"
        for seed in (1, 2)
        if (learner, task, seed) != ("frozen", "b", 2)
    ]
    named = {"accuracy": 0.9, "nll": 0.5, "ece": 0.1, "seconds": 7.0, "megabytes": 900.0}
    machine = {"processor": "a processor", "device": "cpu", "torch": "2.1"}
    return pd.DataFrame([{**row, **named, **machine} for row in rows])


def test_the_lead_is_over_the_runs_that_both_have() -> None:
    told = peer_tables.tables(results())
    assert "| sentence-transformers + logistic regression | 1 | 2, 3 | 0.655 | +20.0 | 0.900 | 0.50 | 0.100 |" in told
    assert "| **hybridal**, `auto`, `minilm` | 1 | 2, 4 | 0.860 ± 0.014 |  | 0.900 | 0.50 | 0.100 | 7 | 900 |" in told
    assert "| macro-F1, 50 labels | `a` | `b` |" in told
    assert "| **hybridal**, `auto`, `minilm` | **0.810** | **0.910** |" in told
    assert "Where others are ahead" not in told


def test_a_learner_that_lacks_a_task_has_a_lead_but_no_mean() -> None:
    found = results()
    told = peer_tables.tables(found[(found.learner == "hybridal") | (found.task == "a")])
    assert "| sentence-transformers + logistic regression | 1 | 1, 2 |  | +20.0 |  |  |  |" in told


def test_rows_name_their_machine_and_costs_of_several_are_not_shown() -> None:
    found = results()
    found.loc[found.learner == "frozen", "device"] = "cuda"
    told = peer_tables.tables(found)
    assert "Machine 1: a processor, cpu, torch 2.1." in told
    assert "Machine 2: a processor, cuda, torch 2.1." in told
    assert "| sentence-transformers + logistic regression | 2 | 2, 3 |" in told
    assert "CPU s" not in told
    assert "CPU s" in peer_tables.tables(results())


def test_cells_where_another_tool_is_ahead_are_listed() -> None:
    """The other tool has one seed of the task, and is compared with the same seed."""
    found = results()
    found.loc[(found.learner == "frozen") & (found.task == "b"), ["f1", "nll"]] = (0.95, 0.3)
    told = peer_tables.tables(found)
    assert "| macro-F1 | `b` | 50 | sentence-transformers + logistic regression | 1 | +0.050 |  |" in told
    assert "| log loss | `b` | 50 | sentence-transformers + logistic regression | 1 | +0.200 |  |" in told
    assert "| macro-F1 | `a` |" not in told


def test_a_run_that_failed_is_named_with_its_reason() -> None:
    failed = pd.DataFrame([{"task": "a", "learner": "setfit", "seed": 1, "failed": "no memory"}])
    told = peer_tables.tables(pd.concat([results(), failed], ignore_index=True))
    assert "| SetFit, random labels | `a` | no memory |" in told
    assert "Not run" not in peer_tables.tables(results())


def test_a_process_that_fails_leaves_a_row_per_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(*_: object) -> object:
        raise RunError("no memory")

    monkeypatch.setattr(peers, "run", run)
    asked = peers.arguments(["--labels", "10", "--out", str(tmp_path / "found.parquet")])
    found = peers.cells(toy_task(), "setfit", [1, 2], tmp_path, asked)
    assert found[["seed", "failed"]].to_numpy().tolist() == [[1, "no memory"], [2, "no memory"]]


def test_several_workers_play_the_seeds_that_are_missing_together() -> None:
    found = results().assign(failed=None)
    words = ["--learners", "frozen", "hybridal", "--seeds", "1", "2"]
    assert [*peers.missing(found, ["b"], peers.arguments(words))] == [("frozen", "b", [2])]
    failed = found.assign(failed="no memory")
    together = peers.arguments([*words, "--workers", "2"])
    assert [*peers.missing(failed, ["b"], together)] == [("frozen", "b", [1, 2]), ("hybridal", "b", [1, 2])]


def test_all_find_how_an_encoder_pools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "models"
    (models / "minilm").mkdir(parents=True)
    (models / "minilm" / "config.json").write_text('{"hidden_size": 4}')
    monkeypatch.setenv("HYBRIDAL_MODELS", str(models))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(peers, "ENCODERS", ("minilm",))
    made = tmp_path / "made"
    made.mkdir()
    peers.place_encoders(made, toy_task())
    assert Backbone("any", made / "minilm").pooling == "mean"
    modules = json.loads((made / "minilm" / "modules.json").read_text())
    assert [module["path"] for module in modules] == ["", "1_Pooling", "2_Normalize"]


def test_the_page_gets_the_tables_without_computing(tmp_path: Path) -> None:
    results().to_parquet(tmp_path / "found.parquet")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter")
    peers.main(["--tables", "--out", str(tmp_path / "found.parquet"), "--page", str(page)])
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert "### 50 labels" in text
    assert text.endswith("after")
