from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybridal import TextClassifier
from hybridal.errors import UserError
from hybridal.learners import pool_scoring, shards
from hybridal.learners.pool_scoring import PoolFile, Scorer
from hybridal.learners.shards import NOTE, PoolPredictions, texts_in
from hybridal.system.thread_count import one_thread
from hybridal.testing.small import toy_task

from .engine_studies import once
from .two_nodes import TwoNodes

pytestmark = pytest.mark.usefixtures("parquet_here")

TEXTS = toy_task().train.texts[:96]
SHARDS, EACH = 12, 8


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Twelve files of eight texts, in two folders."""
    for number in range(SHARDS):
        some = range(EACH * number, EACH * (number + 1))
        file = tmp_path / "pool" / f"half-{number % 2}" / f"part-{number:02d}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"key": [f"t{row}" for row in some], "text": [TEXTS[row] for row in some]}).to_parquet(file)
    return tmp_path / "pool"


def found(folder: Path) -> pd.DataFrame:
    table = pd.concat([pd.read_parquet(file) for file in folder.rglob("*.parquet")])
    return table.set_index("id").loc[[f"t{row}" for row in range(len(TEXTS))]]


@pytest.mark.ray
def test_a_node_lost_in_the_middle_costs_its_file(
    nodes: TwoNodes, model: Path, pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()

    lost = nodes.second().node_id

    class Slow(Scorer):
        """Notes on which node it begins which file; no file is done before the node that will be lost has one.

        It has no model, which takes longest to load: the test below has.
        """

        def __init__(self, files: Mapping[str, bytes], device: str) -> None: ...

        def predict_file(self, file: PoolFile) -> int:
            import ray

            node = ray.get_runtime_context().get_node_id()
            (begun / f"{file.source.stem} {node} {time.monotonic()}").touch()
            while node == lost or not any(lost in noted.name for noted in begun.iterdir()):
                time.sleep(0.02)
            pd.read_parquet(file.source, columns=["key"]).to_parquet(file.target)
            return EACH

    monkeypatch.setattr(pool_scoring, "Scorer", Slow)
    predictions = PoolPredictions(model, pool, tmp_path / "out", id="key")
    heard: list[int] = []
    with once(lambda: any(lost in noted.name for noted in begun.iterdir()), nodes.lose_second):
        predictions.make(nodes.address, "cpu", workers=2, progress=heard.append)
    assert heard == [EACH] * SHARDS
    tries = [noted.name.split()[0] for noted in begun.iterdir()]
    assert len(set(tries)) == SHARDS
    assert len(tries) == SHARDS + 1, "only what the lost node had in hand was begun again"
    assert predictions.missing() == []


class ScorerHere:
    """A scorer in this process instead of a cluster's."""

    def __init__(self, model: Path) -> None:
        self.scorer = Scorer({file.name: file.read_bytes() for file in model.iterdir() if file.is_file()}, "cpu")
        self.idle, self.given = [self], list[Any]()

    def assign(self, shard: Any) -> None:
        self.given.append((self.idle.pop(), shard))

    def next(self) -> tuple[Any, int, None]:
        scorer, shard = self.given.pop()
        self.idle.append(scorer)
        return shard, self.scorer.predict_file(shard.work), None


@contextmanager
def scorer_here(model: Path, *_: object) -> Iterator[ScorerHere]:
    yield ScorerHere(model)


@pytest.mark.ray
def test_files_that_are_done_are_kept_and_a_bad_one_is_named(
    nodes: TwoNodes, model: Path, pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = pool / "half-1" / "part-11.parquet"
    whole = pd.read_parquet(bad)
    whole.assign(text=[*whole["text"][:-1], " "]).to_parquet(bad)
    predictions = PoolPredictions(model, pool, tmp_path / "out", id="key")
    with pytest.raises(UserError, match=rf"{bad}.*row 8"):
        predictions.make(nodes.address, "cpu", workers=1)
    assert 0 < len(predictions.missing()) < SHARDS
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*.parquet")}
    whole.to_parquet(bad)
    monkeypatch.setattr(shards, "start_scorers", scorer_here)
    predictions.make("here")
    assert predictions.missing() == []
    assert all(file.stat().st_mtime_ns == time for file, time in times.items()), "what was done was done again"
    with one_thread():
        expected = TextClassifier.load(model, "cpu").predict_proba(TEXTS)
    np.testing.assert_allclose(found(tmp_path / "out").iloc[:, 2:].to_numpy(), expected, atol=1e-6)
    predictions.make("no-such-host:1")  # all files are done: no cluster is contacted


def test_predictions_of_another_model_are_not_mixed(model: Path, pool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / NOTE).write_text('{"model": "another"}')
    with pytest.raises(UserError, match="predictions of another model or other columns"):
        PoolPredictions(model, pool, out).make()


def test_problems_of_the_pool_are_reported_first(model: Path, pool: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder with Parquet files"):
        PoolPredictions(model, tmp_path / "nowhere", tmp_path / "out").make()
    with pytest.raises(UserError, match="lies in the pool itself"):
        PoolPredictions(model, pool, pool / "out").make()
    with pytest.raises(UserError, match=r"part-00\.parquet.*'words'"):
        PoolPredictions(model, pool, tmp_path / "out", text="words").make()
    assert texts_in(PoolPredictions(model, pool, tmp_path / "out").files()) == len(TEXTS)


def test_machine_without_the_pool_is_reported(model: Path, tmp_path: Path) -> None:
    files = {file.name: file.read_bytes() for file in model.iterdir() if file.is_file()}
    with pytest.raises(UserError, match="every machine must see the pool's folder"):
        Scorer(files, "cpu").predict_file(PoolFile(tmp_path / "gone.parquet", tmp_path / "out.parquet"))
