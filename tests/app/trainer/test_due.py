from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.trainer.due import Labels, is_due, lacking, refusal

counts = st.lists(st.integers(0, 30), max_size=5)
all_labels = st.builds(Labels, st.integers(0, 60), counts, st.integers(0, 9))


def test_a_first_model_waits_for_its_initial_labels() -> None:
    assert [lacking(Labels(n, (n, n), 3), False, 16, 8) for n in range(6)] == [8, 6, 4, 2, 0, 0]


def test_a_first_model_waits_for_two_labels_of_two_classes() -> None:
    assert not is_due(Labels(20, (20, 0, 0), 9), False, 16, 8)
    assert not is_due(Labels(21, (20, 1, 0), 9), False, 16, 8)
    assert is_due(Labels(22, (20, 0, 2), 9), False, 16, 8)
    assert not is_due(Labels(20, (20,), 9), False, 16, 8)
    assert not is_due(Labels(20, (), 9), False, 16, 0)


def test_a_first_model_waits_for_something_to_be_measured_on() -> None:
    assert lacking(Labels(20, (10, 10), 0), False, 16, 8) == 1


def test_further_models_wait_for_a_batch_of_new_labels() -> None:
    assert not is_due(Labels(15, (90, 90), 9), True, 16, 8)
    assert is_due(Labels(16, (90, 90), 9), True, 16, 8)


@given(all_labels, st.booleans(), st.integers(1, 40), st.integers(1, 40))
def test_due_is_when_nothing_lacks_and_what_is_due_is_never_refused(
    labels: Labels, trained: bool, batch: int, initial: int
) -> None:
    assert is_due(labels, trained, batch, initial) == (lacking(labels, trained, batch, initial) == 0)
    if is_due(labels, False, batch, initial):
        assert refusal(labels) == ""


@given(all_labels, st.integers(1, 40), st.integers(1, 40))
def test_so_many_more_labels_of_the_right_kind_are_enough(labels: Labels, batch: int, initial: int) -> None:
    n = lacking(labels, True, batch, initial)
    assert is_due(Labels(labels.new + n, labels.per_class, labels.validation), True, batch, initial)


def test_who_asks_too_early_is_told_what_is_missing() -> None:
    assert "no labels to learn from" in refusal(Labels(0, (0, 0), 3))
    assert "one class" in refusal(Labels(1, (1, 0), 3))
    assert "No validation text" in refusal(Labels(2, (1, 1), 0))
    assert refusal(Labels(2, (1, 1), 1)) == ""
