from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from hybridal.errors import UserError
from hybridal.measures.recall_certificate import allowed_missing, certify, most_missing


@pytest.mark.parametrize("missing", [6, 12, 40])
def test_few_certificates_are_wrong_though_somebody_looks_after_every_forty_labels(missing: int) -> None:
    """100 texts are found, so that more than 5 missing ones break the promise of 95%."""
    rng, left_out, wrong = np.random.default_rng(missing), 400, 0
    for _ in range(100):
        drawn = np.cumsum(rng.permutation(left_out) < missing)
        for sampled in range(40, left_out, 40):
            seen = int(drawn[sampled - 1])
            if most_missing(left_out, sampled, seen, many_looks=True) <= allowed_missing(100 + seen, 0.95):
                wrong += missing - seen > allowed_missing(100 + seen, 0.95)
                break
    assert wrong / 100 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize(("missing", "sampled"), [(6, 200), (10, 160), (40, 40)])
def test_few_certificates_of_a_sample_of_fixed_size_are_wrong(missing: int, sampled: int) -> None:
    """100 texts are found; every sample of 400 texts is drawn, weighed by its probability."""
    left_out, wrong = 400, 0.0
    for seen in range(missing + 1):
        found = 100 + seen
        if certify(found, left_out, sampled, seen).holds and missing - seen > allowed_missing(found, 0.95):
            wrong += comb(missing, seen) * comb(left_out - missing, sampled - seen) / comb(left_out, sampled)
    assert wrong <= 0.05


@pytest.mark.parametrize(("sampled", "missed"), [(50, 0), (120, 3), (199, 20)])
def test_a_sample_of_fixed_size_has_the_bound_of_scipy(sampled: int, missed: int) -> None:
    of_class = np.arange(missed, 200 - (sampled - missed) + 1)
    possible = hypergeom.cdf(missed, 200, of_class, sampled) > 0.05
    assert most_missing(200, sampled, missed) == of_class[possible].max() - missed


def test_a_growing_sample_takes_more_labels_than_one_of_fixed_size() -> None:
    fixed, growing = (certify(300, 2000, 0, 0, many_looks=looks).labels_needed for looks in (False, True))
    assert fixed is not None
    assert growing is not None
    assert fixed < growing < 1.2 * fixed


@settings(max_examples=40)
@given(st.integers(1, 300), st.data())
def test_it_holds_once_nothing_can_be_missing(left_out: int, data: st.DataObject) -> None:
    missed = data.draw(st.integers(0, left_out))
    certificate = certify(missed + 3, left_out, left_out, missed)
    assert certificate.holds
    assert certificate.sure_recall == 1.0
    assert certificate.labels_needed is None


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 200), st.integers(2, 400), st.data())
def test_the_labels_that_are_said_to_be_needed_suffice_and_one_fewer_does_not(
    found: int, left_out: int, data: st.DataObject
) -> None:
    sampled = data.draw(st.integers(0, left_out))
    missed = data.draw(st.integers(0, min(sampled, found, 3)))
    certificate = certify(found, left_out, sampled, missed)
    if certificate.holds:
        return
    needed = certificate.labels_needed
    assert needed is not None
    assert needed > sampled
    assert certify(found, left_out, needed, missed).holds
    assert needed - 1 == sampled or not certify(found, left_out, needed - 1, missed).holds


def test_nothing_sampled_means_that_everything_may_be_missing() -> None:
    assert most_missing(50, 0, 0) == 50
    assert certify(0, 50, 0, 0).sure_recall == 0.0


def test_a_list_of_nothing_is_complete() -> None:
    assert certify(4, 0, 0, 0).holds


def test_more_found_texts_need_fewer_labels() -> None:
    needed = [certify(found, 5000, 0, 0).labels_needed or 0 for found in (50, 100, 500, 2000)]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] > 0


@pytest.mark.parametrize("counts", [(5, 10, 11, 0), (5, 10, 4, 5), (2, 10, 5, 3)])
def test_counts_that_contradict_each_other_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(UserError, match="cannot be"):
        certify(*counts)
