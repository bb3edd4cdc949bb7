"""The checks for acquisition functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from hybridal.acquisition import MULTI_LABEL, SINGLE_LABEL, Acquisition, Selection
from hybridal.testing.common import check_configuration, ensure, globals_untouched, peak_bytes
from hybridal.testing.fakes import FakeCandidates

CANDIDATES = 20_000
MAX_BYTES = 64 * 2**20  # all gradients, 20 × 64 numbers each, would take 98 MiB, all distances 1.5 GiB


def check_acquisition(make: Callable[[], Acquisition]) -> None:
    """Check an acquisition function: valid ids, determinism, independence of order, bounded memory.

    Args:
        make: The class, or a function that creates the acquisition.

    Raises:
        AssertionError: A check failed.

    Example:
        >>> from hybridal.acquisition.entropy import Entropy
        >>> check_acquisition(Entropy)
    """
    name = check_configuration(make, "select").name
    with globals_untouched(name):
        for several in _kinds(make()):
            for candidates in (FakeCandidates.random(1, **several), FakeCandidates.random(2, ties=True, **several)):
                _check_repeat(make, candidates)  # first, before the acquisition can have changed anything
                for n in (0, 1, 12, len(candidates.ids), len(candidates.ids) + 5):
                    _check_selection(name, candidates, n, _select(make, candidates, n))
                _check_order(make, candidates)
            one = FakeCandidates.random(3, count=1, **several)
            _check_selection(name, one, 4, _select(make, one, 4))
            _check_memory(make, several)


def _kinds(acquisition: Acquisition) -> list[dict[str, bool]]:
    """The kinds of candidates that the acquisition supports."""
    known = getattr(acquisition, "objectives", {SINGLE_LABEL})
    return [{"multi_label": kind == MULTI_LABEL} for kind in (SINGLE_LABEL, MULTI_LABEL) if kind in known]


def _select(make: Callable[[], Acquisition], candidates: FakeCandidates, n: int, seed: int = 7) -> Selection:
    acquisition = make()
    found = acquisition.select(candidates, n, np.random.default_rng(seed))
    name = acquisition.name
    ensure(isinstance(found, Selection), f"{name}: must return a Selection, not {found!r:.60}")
    whole = isinstance(found.ids, tuple) and all(type(one) is str for one in found.ids)
    ensure(whole, f"{name}: its ids must be a tuple of plain strings, not {found.ids!r:.60}")
    whole = isinstance(found.scores, tuple) and all(type(s) is float and math.isfinite(s) for s in found.scores)
    ensure(whole, f"{name}: its scores must be a tuple of finite floats, not {found.scores!r:.60}")
    return found


def _check_selection(name: str, candidates: FakeCandidates, n: int, found: Selection) -> None:
    ensure(set(found.ids) <= set(candidates.ids), f"{name}: must choose ids of the candidates")
    ensure(len(set(found.ids)) == len(found.ids), f"{name}: must not choose an id twice")
    wanted = min(n, len(candidates.ids))
    ensure(len(found.ids) == wanted, f"{name}: must choose {wanted} of {len(candidates.ids)}, not {len(found.ids)}")
    ensure(len(found.scores) == len(found.ids), f"{name}: must give one score for each id")


def _check_repeat(make: Callable[[], Acquisition], candidates: FakeCandidates) -> None:
    name, acquisition = make().name, make()
    before = [array.copy() for array in candidates.arrays()]
    ids = list(candidates.ids)
    found = [_select(lambda: acquisition, candidates, 12) for _ in range(2)]
    ensure(found[0] == found[1] == _select(make, candidates, 12), f"{name}: the same seed must give the same choice")
    same = all(np.array_equal(was, now) for was, now in zip(before, candidates.arrays(), strict=True))
    ensure(same and ids == candidates.ids, f"{name}: must not change its candidates")


def _check_order(make: Callable[[], Acquisition], candidates: FakeCandidates) -> None:
    """Without randomness, the choice must depend on ids and scores, not on the order of the candidates."""
    chances = {_select(make, candidates, 12, seed) for seed in (7, 8, 9)}
    if len(chances) > 1:
        return
    for seed in (1, 2):
        shuffled = candidates.permuted(np.random.default_rng(seed).permutation(len(candidates.ids)))
        ensure({_select(make, shuffled, 12)} == chances, f"{make().name}: the order of candidates must not matter")


def _check_memory(make: Callable[[], Acquisition], kind: Mapping[str, bool]) -> None:
    many = FakeCandidates.random(4, count=CANDIDATES, classes=20, width=64, labelled=200, **kind)
    own = sum(array.nbytes for array in many.arrays())
    peak = peak_bytes(lambda: _select(make, many, 8)) - many.sampled_probabilities(10).nbytes
    ensure(
        peak < MAX_BYTES,
        f"{make().name}: must take at most {MAX_BYTES >> 20} MiB for {CANDIDATES:,} candidates in addition to their "
        f"{own >> 20} MiB, not {peak >> 20}",
    )
