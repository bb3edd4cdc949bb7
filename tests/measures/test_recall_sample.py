from __future__ import annotations

import json

import numpy as np
import pytest

from hybridal.measures.recall_sample import RecallSample


def test_every_text_of_the_list_is_equally_likely_to_be_first() -> None:
    first = [RecallSample.draw("bug", "abcd", found=3, seed=seed).order[0] for seed in range(400)]
    assert all(70 <= first.count(id) <= 130 for id in "abcd")


def test_only_labels_up_to_the_first_gap_count() -> None:
    """Which texts people label first may depend on the texts."""
    sample = RecallSample("bug", tuple(range(50)), found=9)
    found = sample.certificate({0: False, 1: True, 2: False, 4: True, 5: False})
    assert (found.sampled, found.missed, found.found) == (3, 1, 10)


def test_the_labels_needed_are_enough() -> None:
    sample = RecallSample.draw("bug", range(500), found=100, seed=3)
    needed = sample.labels_needed(0.9)
    labels = dict.fromkeys(sample.take(needed), False)
    assert sample.certificate(labels, 0.9).holds
    del labels[sample.order[needed - 1]]
    assert not sample.certificate(labels, 0.9).holds


def test_a_certificate_of_a_growing_sample_is_rarely_wrong() -> None:
    """10 of 300 texts belong to the class and 60 are found, so that more than 3 missing ones break the promise."""
    broken = 0
    for seed in range(60):
        sample = RecallSample.draw("bug", range(300), found=60, seed=seed)
        labels = {id: id < 10 for id in sample.order}
        for n in range(150, 300, 50):
            now = sample.certificate({id: labels[id] for id in sample.take(n)})
            if now.holds:
                missing = 10 - now.missed
                broken += now.found / (now.found + missing) < 0.95
                break
    assert broken <= 60 * 0.05 + 2 * np.sqrt(60 * 0.05 * 0.95)


def test_it_is_stored_and_read() -> None:
    sample = RecallSample.draw("bug", ["a", "b"], found=3, given=1)
    assert RecallSample.from_json(json.loads(json.dumps(sample.to_json()))) == sample
    with pytest.raises(ValueError, match="no recall sample"):
        RecallSample.from_json({"order": []})
