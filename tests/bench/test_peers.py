from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench import peers
from bench.contenders import our_curve, peer_curves
from bench.contenders.curves import Question, play
from bench.page import BEGIN, END
from hybridal import ActiveLearner
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
    (tmp_path / "asked").write_text(question("tfidf").dump())
    monkeypatch.setattr(sys, "argv", ["play", str(tmp_path / "asked"), str(tmp_path / "answer")])
    play(peer_curves.LEARNERS)
    answer = json.loads((tmp_path / "answer").read_text())
    assert [point["labels"] for point in answer["curve"]] == [10, 16]
    assert answer["megabytes"] > 0


def results() -> pd.DataFrame:
    """Two tasks and two seeds; the other learner lacks a cell."""
    rows = [
        {"task": task, "learner": learner, "seed": seed, "labels": 50, "f1": f1 + 0.1 * (task == "b")}
        for learner, f1 in (("hybridal", 0.8), ("frozen", 0.6))
        for task in "ab"
        for seed in (1, 2)
        if (learner, task, seed) != ("frozen", "b", 2)
    ]
    named = {"accuracy": 0.9, "nll": 0.5, "ece": 0.1, "seconds": 7.0, "megabytes": 900.0, "processor": "a processor"}
    return pd.DataFrame([{**row, **named} for row in rows])


def test_the_lead_is_over_the_tasks_that_both_have() -> None:
    told = peers.tables(results())
    assert "| sentence-transformers + logistic regression | 2, 3 | 0.633 ± 0.035 | +20.0 | 0.900 | 0.50 |" in told
    assert "| **hybridal**, `auto`, `minilm` | 2, 4 | 0.850 ± 0.000 |  | 0.900 | 0.50 | 0.100 | 7 | 900 |" in told
    assert "### Each task, 50 labels" in told


def test_recorded_runs_stand_in_for_ours() -> None:
    """They lack processor seconds and memory."""
    recorded = peers.recorded()
    assert sorted(recorded.labels.unique()) == [50, 101, 203]
    others = results().query("learner == 'frozen'").assign(task="trec", labels=101)
    told = peers.tables(pd.concat([others, recorded], ignore_index=True))
    assert "| **hybridal**, `minilm`, recorded | 9, 27 | 0.770 ± " in told
    ours = recorded.query("labels == 101 and task == 'trec' and learner.str.endswith('minilm')").f1.mean()
    assert f"| {100 * (ours - others.f1.mean()):+.1f} |" in told


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
