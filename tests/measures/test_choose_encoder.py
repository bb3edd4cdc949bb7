from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.encoder_choice import EncoderChoice
from hybridal.measures.choose_encoder import MIN_LABELS, choose, is_due, max_changes

NOW = EncoderChoice("a", judged=20, losses={"a": 0.5, "b": 0.6})


def losses(gain: float, noise: float, labels: int = 40) -> dict[str, np.ndarray]:
    """Losses of `a`, and of `b`, which is better by `gain` with a standard error of `noise`."""
    spread = np.tile([-1.0, 1.0], labels // 2) * noise * np.sqrt(labels - 1)
    return {"a": np.full(labels, 0.7), "b": 0.7 - gain + spread}


def test_the_first_choice_is_the_encoder_with_the_lowest_loss() -> None:
    chosen = choose(losses(gain=0.1, noise=0.5))
    assert (chosen.backbone, chosen.changed, chosen.judged) == ("b", False, 40)
    assert chosen.losses["b"] < chosen.losses["a"]


def test_a_later_change_must_gain_more_than_its_noise() -> None:
    assert choose(losses(gain=0.1, noise=0.2), NOW).backbone == "a"
    changed = choose(losses(gain=0.1, noise=0.05), NOW)
    assert (changed.backbone, changed.changed) == ("b", True)


def test_an_encoder_that_was_never_compared_is_given_up_like_none() -> None:
    """With too few labels to compare, a run begins with its first candidate."""
    chosen = choose(losses(gain=0.1, noise=0.5), EncoderChoice("a"))
    assert (chosen.backbone, chosen.changed) == ("b", True)


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
