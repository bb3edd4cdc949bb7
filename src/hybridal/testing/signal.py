"""The checks for signals."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import numpy as np

from hybridal.signals import Signal, Snapshot
from hybridal.testing.common import check_configuration, ensure, globals_untouched, peak_bytes
from hybridal.testing.fakes import FakeModel

TEXTS = 20_000
MAX_BYTES = 96 * 2**20  # 20,000 texts of 64 features take 5 MB; an (N, N) product would take 1.6 GB


def check_signal(make: Callable[[], Signal]) -> None:
    """Check a signal: valid snapshots and changes, purity, no shared memory, bounded memory.

    Args:
        make: The class, or a function that creates the signal.

    Raises:
        AssertionError: A check failed.

    Example:
        >>> from hybridal.signals.loss import Loss
        >>> check_signal(Loss)
    """
    signal = check_configuration(make, "snapshot", "change")
    number = isinstance(signal.epsilon, int | float) and not isinstance(signal.epsilon, bool)
    positive = number and 0 < signal.epsilon < math.inf
    ensure(positive, f"{signal.name}: epsilon must be positive and finite, not {signal.epsilon!r}")
    ensure(
        isinstance(signal.title, str) and bool(signal.title),
        f"{signal.name}: must have a title, for tables and figures",
    )
    ensure(isinstance(signal.patience, int) and signal.patience >= 1, f"{signal.name}: patience must be 1 or more")
    with globals_untouched(signal.name):
        _check_snapshot(signal, make())
        _check_change(signal)
    _check_memory(signal)


def _model(signal: Signal, seed: int, texts: int = 60, width: int = 8) -> FakeModel:
    """A model that has features only if the signal needs them."""
    return FakeModel.random(seed, texts=texts, width=width, features=signal.needs_features)


def _check_snapshot(signal: Signal, other: Signal) -> None:
    name, model = signal.name, _model(signal, 1)
    before = [array.copy() for array in model.arrays()]
    snapshot = signal.snapshot(model)
    ensure(isinstance(snapshot, dict), f"{name}: a snapshot must be a dictionary of arrays, not {snapshot!r:.60}")
    ensure(bool(snapshot), f"{name}: a snapshot must hold something")
    for key, array in snapshot.items():
        ensure(isinstance(array, np.ndarray), f"{name}: '{key}' of its snapshot must be a numpy array")
        ensure(array.dtype.kind in "biuf", f"{name}: '{key}' of its snapshot must hold numbers")
    for was, now in zip(before, model.arrays(), strict=True):
        ensure(np.array_equal(was, now), f"{name}: must not change the model it looks at")
    ensure(_equal(snapshot, other.snapshot(model)), f"{name}: the same model must give the same snapshot")
    kept = {key: array.copy() for key, array in snapshot.items()}
    for array in model.arrays():
        array.fill(1)
    ensure(_equal(snapshot, kept), f"{name}: its snapshot must not share memory with the model")


def _check_change(signal: Signal) -> None:
    name = signal.name
    before, now = signal.snapshot(_model(signal, 1)), signal.snapshot(_model(signal, 2))
    kept = [{key: array.copy() for key, array in snapshot.items()} for snapshot in (before, now)]
    change = signal.change(before, now)
    ensure(type(change) is float, f"{name}: a change must be a float, not {type(change).__name__}")
    ensure(math.isfinite(change), f"{name}: a change must be finite, not {change}")
    ensure(change >= 0, f"{name}: a change must not be negative")
    ensure(_equal(before, kept[0]) and _equal(now, kept[1]), f"{name}: must not change the snapshots it compares")
    ensure(signal.change(_stored(before), _stored(now)) == change, f"{name}: its snapshots must survive a checkpoint")
    if signal.needs_validation and not signal.same_validation:
        _check_growth(signal, before)


def _check_growth(signal: Signal, before: Snapshot) -> None:
    try:
        grown = signal.change(before, signal.snapshot(_model(signal, 2, texts=75)))
    except ValueError as error:
        raise AssertionError(
            f"{signal.name}: must compare rounds between which validation texts were added, or say `same_validation`"
        ) from error
    ensure(math.isfinite(grown), f"{signal.name}: its change must be finite when validation texts were added")


def _check_memory(signal: Signal) -> None:
    before, now = (_model(signal, seed, texts=TEXTS, width=64) for seed in (1, 2))
    peak = peak_bytes(lambda: signal.change(signal.snapshot(before), signal.snapshot(now)))
    ensure(peak < MAX_BYTES, f"{signal.name}: takes {peak >> 20} MiB for {TEXTS:,} texts, more than {MAX_BYTES >> 20}")


def _equal(one: Snapshot, other: Snapshot) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


def _stored(snapshot: Snapshot) -> Snapshot:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **snapshot)
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return dict(loaded)
