"""Probabilities for pools that one machine would take too long for, spread over Ray."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hybridal.backbones.exported import ABOUT
from hybridal.core.outputs import Floats
from hybridal.errors import RunError, UserError
from hybridal.learners.predictions import write_predictions
from hybridal.learners.text_classifier import TextClassifier
from hybridal.system.ray_cluster import connected, gpu_share
from hybridal.system.scratch import scratch
from hybridal.system.thread_count import one_thread
from hybridal.tasks.read import stream_rows


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
    if shard_size < 1:
        raise UserError("A shard holds one text or more.")
    with scorers(model, "score", address, workers, device, gpus_per_worker) as hired:
        yield from _in_order(hired, _shards(texts, shard_size), 2 * hired.count, tries)


@contextmanager
def scorers(
    model: Path, method: str, address: str, workers: int | None, device: str, gpus_per_worker: float | None
) -> Iterator[_Scorers]:
    """Workers of a cluster, each with the model, who do what this method of a `Scorer` does."""
    if not (model / ABOUT).is_file():
        raise UserError(f"{model} is not an exported model: it has no {ABOUT}; finish the run first.")
    if workers is not None and workers < 1:
        raise UserError("One worker or more is needed.")
    with connected(address) as ray:
        share = gpu_share(ray, device, gpus_per_worker)
        room = ray.cluster_resources()
        count = workers or max(1, int(room.get("GPU", 0) / share if share else room.get("CPU", 1)))
        files = ray.put(
            {str(file.relative_to(model)): file.read_bytes() for file in model.rglob("*") if file.is_file()}
        )
        make = ray.remote(num_cpus=1, num_gpus=share)(Scorer)
        hired = _Scorers(ray, lambda: make.remote(files, "cuda" if share else "cpu"), method, count)
        try:
            yield hired
        finally:
            hired.dismiss()


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

    def predict_file(self, file: PoolFile) -> int:
        """Writes the predictions of a file beside those of the others; how many there are."""
        if not file.source.is_file():
            raise UserError(f"{platform.node()} has no file {file.source}; every machine must see the pool's folder.")
        done: list[int] = []
        with one_thread():
            pieces = stream_rows(file.source, file.text, id=file.id, drop_empty=file.drop_empty)
            write_predictions(self._model, pieces, file.target, done.append)
        return sum(done)


@dataclass(frozen=True)
class PoolFile:
    """A file of a pool, and where its predictions go; `text` and `id` are columns of it."""

    source: Path
    target: Path
    text: str = "text"
    id: str | None = None
    drop_empty: bool = False


@dataclass
class _Shard:
    number: int
    work: Any


@dataclass
class _Scorers:
    """Scorers, and which of them has which shard. Only one that has answered gets a shard: others may never start."""

    ray: Any
    make: Any
    method: str
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
        self.busy[getattr(scorer, self.method).remote(shard.work)] = scorer, shard

    def next(self) -> tuple[_Shard | None, Any, str | None]:
        """A shard and its result, or the reason why a scorer was lost; another is hired in its place."""
        (ref, *_), _ = self.ray.wait(list(self.busy), num_returns=1)
        scorer, shard = self.busy.pop(ref)
        try:
            result = self.ray.get(ref)
        except self.ray.exceptions.RayActorError as loss:
            self.hire()
            return shard, None, str(loss)
        except self.ray.exceptions.RayTaskError as failed:
            if isinstance(failed.cause, UserError | RunError):  # its own sentence, without where in whose code
                raise failed.cause from None
            raise
        self.idle.append(scorer)
        return shard, result, None

    def dismiss(self) -> None:
        for scorer in [*self.idle, *(scorer for scorer, _ in self.busy.values())]:
            self.ray.kill(scorer)


def predicted_files(hired: _Scorers, files: Sequence[PoolFile], tries: int) -> Iterator[int]:
    """How many predictions each file has got, in the order of the files; all are begun as soon as somebody is free."""
    shards = (_Shard(number, file) for number, file in enumerate(files))
    yield from _in_order(hired, shards, len(files), tries)


def _in_order(scorers: _Scorers, shards: Iterator[_Shard], ahead: int, tries: int) -> Iterator[Any]:
    """Hands out shards, at most so many ahead of the one that is awaited; lost ones first."""
    done: dict[int, Any] = {}
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
