from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.encoder_choice import EncoderChoice
from hybridal.measures.choose_encoder import MIN_LABELS, choose, is_due, max_changes

NOW = EncoderChoice("a", judged=20, losses={"a": 0.5, "b": 0.6})


def losses(gain: float, noise: float, labels: int = 40) -> dict[str, np.ndarray]:
    """Losses of `a`, and of `b`, which is better by `gain` with a standard error of `noise`."""
    spread = np.tile([-1.0, 1.0], labels // 2) * noise * np.sqrt(labels - 1)
    return {"a": np.full(labels, 0.7), "b": 0.7 - gain + spread}


@pytest.mark.parametrize("now", [None, EncoderChoice("a"), NOW])
def test_a_change_must_gain_more_than_its_noise(now: EncoderChoice | None) -> None:
    """From the first candidate too, whether or not a round began with it."""
    kept = choose(losses(gain=0.1, noise=0.06), now)
    assert (kept.backbone, kept.changed, kept.judged) == ("a", False, 40)
    assert kept.losses["b"] < kept.losses["a"]
    changed = choose(losses(gain=0.1, noise=0.04), now)
    assert (changed.backbone, changed.changed) == ("b", now is not None)


def test_two_encoders_that_cannot_be_told_apart_keep_their_order() -> None:
    assert choose({"a": np.ones(12), "b": np.ones(12)}).backbone == "a"


@given(st.lists(st.integers(0, 5000), max_size=60), st.randoms())
def test_the_number_of_changes_is_bounded(counts: list[int], random: object) -> None:
    """However labels come and go and whatever the losses are."""
    now = EncoderChoice("a")  # the first round had too few labels
    changes = 0
    for labels in counts:
        if not is_due(labels, now):
            continue
        better = random.choice("ab")  # type: ignore[attr-defined]
        now = choose({name: np.full(labels, 0.1 if name == better else 0.9) for name in "ab"}, now)
        changes += now.changed
    assert changes <= max_changes(max(counts, default=0))


def test_candidates_are_compared_when_labels_have_doubled() -> None:
    assert not is_due(MIN_LABELS - 1, None)
    assert is_due(MIN_LABELS, None)
    assert next(labels for labels in range(20, 90) if is_due(labels, NOW)) == 40
