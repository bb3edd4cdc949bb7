from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from bench.forecasts import DRAWS, Run, back_test, drawn, f1, held, recorded
from bench.skewed import CHOSEN_ON, CONFIRMED_ON, ROUNDS, Skew, Texts, read, run
from hybridal.measures.forecast import Observation


def test_macro_f1_of_weighted_texts_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    labels, answers, weights = rng.integers(3, size=50), rng.integers(4, size=50), rng.uniform(0.1, 2, size=50)
    expected = f1_score(labels, answers, average="macro", labels=[0, 1, 2], sample_weight=weights)
    assert f1(labels, answers, weights) == pytest.approx(expected)


def skewed_runs() -> pd.DataFrame:
    """One run of three rounds on a task of 90 and 10%, whose models know more and more of the rare class."""
    labels = np.repeat([0, 1], [20, 20])
    rows = []
    for number, right in enumerate((0, 10, 18), start=1):
        answers = np.where(np.arange(40) < 20 + right, labels, 0)
        named = {"task": "made up", "seed": 1, "round": number, "labels": 100 * number}
        rows.append(named | {"answers": answers.astype(np.int8).tobytes(), "truth": labels.astype(np.int8).tobytes()})
    return pd.DataFrame(rows).assign(shares=np.array([0.9, 0.1]).tobytes())


def test_truth_has_the_skew_and_validation_is_drawn_from_it() -> None:
    runs = [*drawn(skewed_runs(), 20)]
    assert len(runs) == DRAWS
    assert runs[0].truth[:, 0] == pytest.approx([0.9, 0.95, 0.99])
    assert runs[0].truth[0, 1] == pytest.approx((2 * 0.9 / 1.9) / 2)
    assert [one.n for one in runs[0].seen] == [20, 20, 20]
    assert sum(sum(one.seen[0].support[1:]) for one in runs) < 20 * DRAWS * 0.3
    rights = [one.right for one in runs[0].seen]
    assert rights == sorted(rights)  # the same texts in each round
    growing = next(drawn(skewed_runs(), None))
    assert [one.n for one in growing.seen] == [10, 20, 30]
    assert growing.seen[1].disagreement == pytest.approx(0.05, abs=0.03)


def test_forecast_is_compared_with_the_later_score() -> None:
    seen = [Observation(m, 45, 50, 0.9, 0.01 if m > 300 else None, (25, 25)) for m in range(300, 700, 32)]
    flat = np.full((len(seen), 2), 0.9)
    assert all(all(one) for one in held(Run(seen, flat, 2)))
    jump = flat + 0.09 * (np.arange(len(seen)) == len(seen) - 1)[:, None]
    to_the_end = list(held(Run(seen, jump, 2), every=len(seen)))[-1]
    assert to_the_end[2:] == [False, False]
    row = back_test({"made up": [Run(seen, flat, 2)]}).splitlines()[2]
    assert row.startswith("| made up | 100% | 100% | 100% | 100% | 0.00 points |")


def test_recorded_runs_get_texts_per_class() -> None:
    named = {"task": "jigsaw", "seed": 45, "classes": 2, "test_accuracy": 0.9, "test_f1": 0.6, "validation_f1": 0.5}
    rounds = [
        {**named, "round": i, "labels": 100 * i, "validation_n": 10 * i, "validation_right": 9 * i} for i in (1, 2)
    ]
    [found] = recorded(pd.DataFrame(rounds).assign(disagreement=[np.nan, 0.1]))
    assert [sum(one.support) for one in found.seen] == [10, 20]
    assert [one.disagreement for one in found.seen] == [None, 0.1]
    assert all(one.f1 in (0.5, 1.0) for one in found.seen)  # the mean over two classes, or over the one with texts


def test_a_skewed_task_has_its_shares_and_no_text_twice(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(3000)]
    for split in ("train", "validation", "test"):
        frame = pd.DataFrame({"text": texts, "labels": [["a"] if i % 3 else ["b"] for i in range(3000)]})
        frame.to_parquet(tmp_path / f"{split}.parquet")
    found = read("made up", Skew(".", ("a", "b"), (0.9, 0.1)), tmp_path)
    assert not set(found.pool) & set(found.measured)
    assert np.mean(found.labels == 1) == pytest.approx(0.1, abs=0.01)
    assert found.shares == [0.9, 0.1]
    assert not set(CHOSEN_ON) & set(CONFIRMED_ON)


def test_a_run_labels_more_in_each_round_and_learns() -> None:
    rng = np.random.default_rng(0)
    labels, truth = rng.integers(2, size=700), rng.integers(2, size=100)
    pool, measured = (of[:, None] * 2.0 - 1 + rng.normal(size=(len(of), 4)) for of in (labels, truth))
    made = Texts(("a", "b"), [""] * 700, labels, [""] * 100, truth, [0.5, 0.5])
    rounds = [*run(made, pool, measured, None, seed=1)]
    known = [labelled for labelled, _, _ in rounds]
    assert known == [32 * (i + 1) for i in range(ROUNDS)]
    assert np.mean(rounds[-1][2] == truth) > 0.9
    assert np.isnan(rounds[0][1])
    assert all(0 <= moved <= 1 for _, moved, _ in rounds[1:])
