"""Probabilities for pools that one machine would take too long for, spread over Ray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hybridal.backbones.backbone import ABOUT
from hybridal.core.outputs import Floats
from hybridal.errors import RunError, UserError
from hybridal.learners.text_classifier import TextClassifier
from hybridal.study.engines import one_thread
from hybridal.study.engines.ray import connected, gpu_share
from hybridal.system.scratch import scratch


def score_pool(
    texts: Iterable[str],
    model: Path,
    address: str = "local",
    shard_size: int = 4096,
    workers: int | None = None,
    device: str = "auto",
    gpus_per_worker: float | None = None,
    tries: int = 3,
) -> Iterator[Floats]:
    """The probabilities of an exported model for these texts: an array a shard, in the order of the texts.

    Neither all texts nor all results are ever held: a pool may be larger than any memory. The model travels to its
    workers (default: as many as the cluster has room for), and each loads it once. A shard whose worker is lost goes to
    another; after `tries` losses in a row without a scored shard it ends with an error.
    """
    if not (model / ABOUT).is_file():
        raise UserError(f"{model} is not an exported model: it has no {ABOUT}; finish the run first.")
    if shard_size < 1 or (workers is not None and workers < 1):
        raise UserError("A shard holds one text or more, and one worker or more scores them.")
    with connected(address) as ray:
        share = gpu_share(ray, device, gpus_per_worker)
        room = ray.cluster_resources()
        count = workers or max(1, int(room.get("GPU", 0) / share if share else room.get("CPU", 1)))
        files = ray.put(
            {str(file.relative_to(model)): file.read_bytes() for file in model.rglob("*") if file.is_file()}
        )
        make = ray.remote(num_cpus=1, num_gpus=share)(Scorer)
        scorers = _Scorers(ray, lambda: make.remote(files, "cuda" if share else "cpu"), count)
        try:
            yield from _in_order(scorers, _shards(texts, shard_size), 2 * count, tries)
        finally:
            scorers.dismiss()


class Scorer:
    """One model in one process, on the machine where Ray put it."""

    def __init__(self, files: Mapping[str, bytes], device: str) -> None:
        with scratch() as home:
            for name, data in files.items():
                target = home / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            self._model = TextClassifier.load(home, device)
            self.score(["all that is loaded late is loaded now"])

    def ready(self) -> None:
        """Answers once the model is loaded."""

    def score(self, texts: list[str]) -> Floats:
        with one_thread():
            return self._model.predict_proba(texts)


@dataclass
class _Shard:
    number: int
    texts: list[str]


@dataclass
class _Scorers:
    """Scorers, and which of them has which shard. Only one that has answered gets a shard: others may never start."""

    ray: Any
    make: Any
    count: int
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, _Shard | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for _ in range(self.count):
            self.hire()

    def hire(self) -> None:
        scorer = self.make()
        self.busy[scorer.ready.remote()] = scorer, None

    def give(self, shard: _Shard) -> None:
        scorer = self.idle.pop()
        self.busy[scorer.score.remote(shard.texts)] = scorer, shard

    def next(self) -> tuple[_Shard | None, Floats | None, str | None]:
        """A shard and its result, or the reason why a scorer was lost; another is hired in its place."""
        (ref, *_), _ = self.ray.wait(list(self.busy), num_returns=1)
        scorer, shard = self.busy.pop(ref)
        try:
            result = self.ray.get(ref)
        except self.ray.exceptions.RayActorError as loss:
            self.hire()
            return shard, None, str(loss)
        self.idle.append(scorer)
        return shard, result, None

    def dismiss(self) -> None:
        for scorer in [*self.idle, *(scorer for scorer, _ in self.busy.values())]:
            self.ray.kill(scorer)


def _in_order(scorers: _Scorers, shards: Iterator[_Shard], ahead: int, tries: int) -> Iterator[Floats]:
    """Hands out shards, at most so many ahead of the one that is awaited; lost ones first."""
    done: dict[int, Floats] = {}
    lost: list[_Shard] = []
    awaited = given = losses = 0
    more = True
    while True:
        while scorers.idle and (lost or (more and given < awaited + ahead)):
            shard = lost.pop() if lost else next(shards, None)
            if shard is None:
                more = False
                break
            given = max(given, shard.number + 1)
            scorers.give(shard)
        if not more and awaited == given:
            return
        shard, result, loss = scorers.next()
        if loss is not None:
            losses += 1
            if losses == tries:
                raise RunError(f"Workers were lost {tries} times in a row; the last time: {loss}")
            lost += [shard] if shard is not None else []
        elif shard is not None and result is not None:
            losses = 0
            done[shard.number] = result
        while awaited in done:
            yield done.pop(awaited)
            awaited += 1


def _shards(texts: Iterable[str], size: int) -> Iterator[_Shard]:
    source, number = iter(texts), 0
    while some := list(islice(source, size)):
        yield _Shard(number, some)
        number += 1
