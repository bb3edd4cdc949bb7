"""Predict large pools on a Ray cluster."""

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
    """Yield the probabilities of an exported model, one array per shard, in the order of the texts.

    Texts and results are streamed, so that a pool may be larger than memory. The model is sent to the workers, and each
    loads it once. If a worker is lost, another one gets its shard.

    Args:
        texts: The texts.
        model: Folder of an exported model.
        address: Address of the cluster, or "local".
        shard_size: Texts per task.
        workers: Number of workers; by default as many as the cluster has room for.
        device: "auto", "cpu" or "cuda".
        gpus_per_worker: Share of a GPU per worker.
        tries: Fail after this many losses in a row without a finished shard.

    Raises:
        UserError: If an argument is invalid or the folder has no model.
        RunError: If workers are lost `tries` times in a row.
    """
    if shard_size < 1:
        raise UserError("`shard_size` must be at least 1.")
    with start_scorers(model, "score", address, workers, device, gpus_per_worker) as scorers:
        yield from _in_order(scorers, _shards(texts, shard_size), 2 * scorers.count, tries)


@contextmanager
def start_scorers(
    model: Path, method: str, address: str, workers: int | None, device: str, gpus_per_worker: float | None
) -> Iterator[_Scorers]:
    """Start workers on a cluster that call one method of `Scorer`."""
    if not (model / ABOUT).is_file():
        raise UserError(f"{model} is not an exported model: it has no {ABOUT}; finish the run first.")
    if workers is not None and workers < 1:
        raise UserError("`workers` must be at least 1.")
    with connected(address) as ray:
        share = gpu_share(ray, device, gpus_per_worker)
        room = ray.cluster_resources()
        count = workers or max(1, int(room.get("GPU", 0) / share if share else room.get("CPU", 1)))
        files = ray.put(
            {str(file.relative_to(model)): file.read_bytes() for file in model.rglob("*") if file.is_file()}
        )
        make = ray.remote(num_cpus=1, num_gpus=share)(Scorer)
        scorers = _Scorers(ray, lambda: make.remote(files, "cuda" if share else "cpu"), method, count)
        try:
            yield scorers
        finally:
            scorers.stop_workers()


class Scorer:
    """A model in a worker process of Ray."""

    def __init__(self, files: Mapping[str, bytes], device: str) -> None:
        with scratch() as home:
            for name, data in files.items():
                target = home / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            self._model = TextClassifier.load(home, device)
            self.score(["a first text, to load everything that is loaded lazily"])

    def ready(self) -> None:
        """Return once the model is loaded."""

    def score(self, texts: list[str]) -> Floats:
        """Return the probabilities of texts."""
        with one_thread():
            return self._model.predict_proba(texts)

    def predict_file(self, file: PoolFile) -> int:
        """Write the predictions of a file and return their number."""
        if not file.source.is_file():
            raise UserError(f"{platform.node()} has no file {file.source}; every machine must see the pool's folder.")
        done: list[int] = []
        with one_thread():
            pieces = stream_rows(file.source, file.text, id=file.id, drop_empty=file.drop_empty)
            write_predictions(self._model, pieces, file.target, done.append)
        return sum(done)


@dataclass(frozen=True)
class PoolFile:
    """A file of a pool, the target of its predictions, and its columns."""

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
    """Workers and their shards. A worker gets its first shard once it is ready, since some may never start."""

    ray: Any
    make: Any
    method: str
    count: int
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, _Shard | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for _ in range(self.count):
            self.start_worker()

    def start_worker(self) -> None:
        scorer = self.make()
        self.busy[scorer.ready.remote()] = scorer, None

    def assign(self, shard: _Shard) -> None:
        scorer = self.idle.pop()
        self.busy[getattr(scorer, self.method).remote(shard.work)] = scorer, shard

    def next(self) -> tuple[_Shard | None, Any, str | None]:
        """Return the next finished shard with its result, or why a worker was lost; a new one replaces it."""
        (ref, *_), _ = self.ray.wait(list(self.busy), num_returns=1)
        scorer, shard = self.busy.pop(ref)
        try:
            result = self.ray.get(ref)
        except self.ray.exceptions.RayActorError as loss:
            self.start_worker()
            return shard, None, str(loss)
        except self.ray.exceptions.RayTaskError as failed:
            if isinstance(failed.cause, UserError | RunError):  # its own message, without Ray's traceback
                raise failed.cause from None
            raise
        self.idle.append(scorer)
        return shard, result, None

    def stop_workers(self) -> None:
        for scorer in [*self.idle, *(scorer for scorer, _ in self.busy.values())]:
            self.ray.kill(scorer)


def predicted_files(scorers: _Scorers, files: Sequence[PoolFile], tries: int) -> Iterator[int]:
    """Yield the number of predictions of each file, in order; files start as soon as a worker is free."""
    shards = (_Shard(number, file) for number, file in enumerate(files))
    yield from _in_order(scorers, shards, len(files), tries)


def _in_order(scorers: _Scorers, shards: Iterator[_Shard], ahead: int, tries: int) -> Iterator[Any]:
    """Distribute shards, lost ones first, at most `ahead` of the next result; yield results in order."""
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
            scorers.assign(shard)
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
