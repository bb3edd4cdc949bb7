from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridal import TextClassifier
from hybridal.core.outputs import Floats
from hybridal.errors import RunError, UserError
from hybridal.learners import pool_scoring
from hybridal.learners.pool_scoring import Scorer, score_pool
from hybridal.system.thread_count import one_thread
from hybridal.testing.small import toy_task

from .two_nodes import TwoNodes

TASK = toy_task()


@pytest.mark.ray
def test_lost_worker_does_not_change_the_scores(
    nodes: TwoNodes, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, died = list(TASK.train.texts), tmp_path / "died"

    class Fragile(Scorer):
        """The first process ends before it has loaded the model."""

        def __init__(self, files: Mapping[str, bytes], device: str) -> None:
            if not died.exists():
                died.touch()
                os._exit(1)
            super().__init__(files, device)

    monkeypatch.setattr(pool_scoring, "Scorer", Fragile)
    found = list(score_pool(iter(texts), model, nodes.address, shard_size=50, workers=1, device="cpu"))
    here = TextClassifier.load(model, "cpu")
    with one_thread():
        wanted = [here.predict_proba(texts[start : start + 50]) for start in (0, 50, 100)]
    assert died.exists()
    assert [len(shard) for shard in found] == [50, 50, 20]
    assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))
    np.testing.assert_allclose(np.concatenate(found), here.predict_proba(texts), atol=1e-6)


class FakeScorers:
    """Scorers that answer in reverse order and die when `dies` is true."""

    def __init__(self, size: int, dies: list[bool]) -> None:
        self.idle, self.busy, self.dies = list(range(size)), list[Any](), dies
        self.most = 0

    def assign(self, shard: Any) -> None:
        self.busy.append((self.idle.pop(), shard))
        self.most = max(self.most, shard.number)

    def next(self) -> tuple[Any, Floats | None, str | None]:
        scorer, shard = self.busy.pop()
        self.idle.append(scorer)
        if self.dies and self.dies.pop(0):
            return shard, None, "killed"
        return shard, np.array([float(text) for text in shard.work]), None


def numbers(size: int) -> Iterator[Any]:
    return pool_scoring._shards((str(number) for number in range(size)), 3)


def test_shards_come_in_order_and_few_are_held() -> None:
    scorers = FakeScorers(2, [False, True, False, True, True])
    scored = pool_scoring._in_order(scorers, numbers(20), ahead=4, tries=3)  # type: ignore[arg-type]
    seen = 0
    for number, shard in enumerate(scored):
        assert scorers.most < number + 4
        seen += len(shard)
        assert shard[-1] == seen - 1
    assert seen == 20


def test_no_texts_give_nothing() -> None:
    assert list(pool_scoring._in_order(FakeScorers(1, []), numbers(0), 2, 3)) == []  # type: ignore[arg-type]


def test_repeated_worker_deaths_end_the_scoring() -> None:
    scored = pool_scoring._in_order(FakeScorers(2, [True] * 9), numbers(20), ahead=4, tries=3)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="lost 3 times in a row; the last time: killed"):
        list(scored)


def test_unusable_input_is_refused(tmp_path: Path, model: Path) -> None:
    with pytest.raises(UserError, match="is not an exported model"):
        next(score_pool(["a"], tmp_path))
    with pytest.raises(UserError, match="must be at least 1"):
        next(score_pool(["a"], model, shard_size=0))
