"""Load a benchmark from the Hugging Face hub, split as in the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybridal.core.outputs import Ints
from hybridal.errors import UserError, reason
from hybridal.tasks.benchmarks import TEST_SHARE, VALIDATION_SHARE, Benchmark
from hybridal.tasks.splits import draw
from hybridal.tasks.task import Split, Task

LoadDataset = Callable[..., Any]

_CHANGED = "the hub's data have changed: empty its cache and load again, or use a mirror (HYBRIDAL_DATA)"


def load_hub(benchmark: Benchmark, *, split_seed: int = 42, load_dataset: LoadDataset | None = None) -> Task:
    """Load a benchmark in the paper's split. Ids are the hub's split and row, such as `train-17`.

    >>> from hybridal.tasks.benchmarks import BENCHMARKS
    >>> def offline(*_: object, **__: object) -> None:
    ...     raise ConnectionError("no network")
    >>> load_hub(BENCHMARKS["imdb"], load_dataset=offline)
    Traceback (most recent call last):
    hybridal.errors.UserError: stanfordnlp/imdb, split 'train': cannot be loaded from the hub (no network); ...
    """
    load = load_dataset or _load_dataset(benchmark)
    pool = _joined([_part(benchmark, name, load) for name in benchmark.pool])
    test = None if benchmark.test is None else _part(benchmark, benchmark.test, load)
    task = split_benchmark(benchmark, pool, test, split_seed)
    check_counts(benchmark, task)
    return task


def split_benchmark(benchmark: Benchmark, pool: Split, test: Split | None, seed: int) -> Task:
    """Split stratified and seeded; shares are rounded up, as in the paper's table.

    >>> from hybridal.tasks.benchmarks import BENCHMARKS
    >>> rows = Split([str(i) for i in range(1000)], ["text"] * 1000, np.arange(1000) % 2)
    >>> task = split_benchmark(BENCHMARKS["imdb"], rows, None, seed=42)
    >>> len(task.train), len(task.validation), len(task.test)
    (790, 10, 200)
    """
    if benchmark.sample is not None:
        pool = _sample(pool, benchmark.sample, seed, "pool sample")
    if test is not None and benchmark.test_sample is not None:
        test = _sample(test, benchmark.test_sample, seed, "test sample")
    n_test = math.ceil(len(pool) * TEST_SHARE) if test is None else 0
    n_validation = math.ceil(len(pool) * VALIDATION_SHARE)
    test_rows, validation_rows, train_rows = draw(pool.labels, [n_test, n_validation], seed)
    held_out = pool.take(test_rows) if test is None else test
    return Task(benchmark.name, benchmark.classes, pool.take(train_rows), pool.take(validation_rows), held_out)


def check_counts(benchmark: Benchmark, task: Task) -> None:
    """Require the number of items per class and split that the paper reports.

    >>> from hybridal.tasks.benchmarks import BENCHMARKS
    >>> rows = Split(["1", "2"], ["bad", "good"], np.array([0, 1]))
    >>> check_counts(BENCHMARKS["imdb"], Task("imdb", ("negative", "positive"), rows, rows, rows))
    Traceback (most recent call last):
    hybridal.errors.UserError: stanfordnlp/imdb: class 'negative' has 1 items in train and 19750 in the paper; ...
    """
    for split, (part, rows) in enumerate(task.splits()):
        found = np.bincount(rows.labels, minlength=len(task.classes))
        for number, name in enumerate(task.classes):
            wanted = benchmark.counts[name][split]
            if found[number] != wanted:
                raise UserError(
                    f"{benchmark.hub}: class '{name}' has {found[number]} items in {part} and {wanted} in the paper; "
                    f"{_CHANGED}."
                )


def _part(benchmark: Benchmark, part: str, load: LoadDataset) -> Split:
    options = {} if benchmark.data_files is None else {"data_files": dict(benchmark.data_files)}
    try:
        data = load(benchmark.hub, benchmark.config, split=part, **options)
        columns = set(data.column_names)
        fields = benchmark.fields
        if benchmark.joined and benchmark.joined in columns and not columns.issuperset(fields):
            fields = (benchmark.joined,)
        texts = _texts([data[field] for field in fields], benchmark.joint)
        labels: Ints = np.asarray(list(data[benchmark.label]), dtype=np.int64)
    # The hub's client raises errors of many packages; whatever it is, the way out is the same.
    except Exception as error:
        raise UserError(
            f"{benchmark.hub}, split '{part}': cannot be loaded from the hub ({reason(error)}); check the connection, "
            f"or set HYBRIDAL_DATA to a folder that holds a folder '{benchmark.name}'."
        ) from error
    wrong = np.flatnonzero((labels < 0) | (labels >= len(benchmark.classes)))
    if len(wrong):
        raise UserError(
            f"{benchmark.hub}, split '{part}', row {wrong[0] + 1}, column '{benchmark.label}': "
            f"{labels[wrong[0]]} is no class of the paper; {_CHANGED}."
        )
    return Split([f"{part}-{row}" for row in range(1, len(texts) + 1)], texts, labels)


def _texts(columns: Sequence[Any], joint: str) -> list[str]:
    return [joint.join(value or "" for value in row) for row in zip(*columns, strict=True)]


def _joined(parts: Sequence[Split]) -> Split:
    ids = [id for part in parts for id in part.ids]
    texts = [text for part in parts for text in part.texts]
    return Split(ids, texts, np.concatenate([part.labels for part in parts]))


def _sample(split: Split, size: int, seed: int, purpose: str) -> Split:
    return split.take(draw(split.labels, [min(size, len(split))], seed, purpose)[0])


def _load_dataset(benchmark: Benchmark) -> LoadDataset:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise UserError(
            f"task '{benchmark.name}' comes from the Hugging Face hub, which needs `pip install 'hybridal[hub]'`; "
            f"or set HYBRIDAL_DATA to a folder that holds a folder '{benchmark.name}'."
        ) from error
    load: LoadDataset = load_dataset
    return load
