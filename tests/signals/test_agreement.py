from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from hybridal.core.label_sets import LabelSets
from hybridal.signals import Sample
from hybridal.signals.agreement import Agreement
from hybridal.signals.divergence import Divergence, jensen_shannon
from hybridal.signals.drift import Drift
from hybridal.testing.fakes import FakeModel

ANSWERS = st.lists(st.integers(0, 2), min_size=1, max_size=30)


def model(rows: list[int], answers: list[int], checks: list[int] | None = None) -> FakeModel:
    """A model, and a probe, that answer so."""
    sample = Sample(np.array(rows), 5.0 * np.eye(3)[answers], lambda: np.eye(3)[checks or answers])
    return FakeModel([[0.0, 1.0]], [1], unlabelled=sample)


@given(st.data())
def test_agreement_is_the_share_of_changed_predictions(data: st.DataObject) -> None:
    one, other = data.draw(ANSWERS), data.draw(ANSWERS)
    size = min(len(one), len(other))
    before = Agreement().snapshot(model([*range(len(one))], one))
    now = Agreement().snapshot(model([*range(len(other))], other))
    changed = sum(a != b for a, b in zip(one, other, strict=False))
    assert Agreement().change(before, now) == changed / size


def test_texts_that_were_labelled_since_are_left_out() -> None:
    before = Agreement().snapshot(model([2, 5, 8], [0, 1, 2]))
    assert Agreement().change(before, Agreement().snapshot(model([2, 8], [0, 0]))) == 0.5
    assert Agreement().change(before, Agreement().snapshot(model([9], [0]))) == 0.0


def test_with_several_labels_any_class_of_a_text_may_change() -> None:
    def decided(*logits: list[float]) -> FakeModel:
        sample = Sample(np.arange(len(logits)), np.array(logits), lambda: np.array(logits))
        return FakeModel([[0.0, 1.0, 0.0]], [1], unlabelled=sample, label_sets=LabelSets(3))

    # The first class stays the most probable one of every text.
    before = Agreement().snapshot(decided([9, 5, -5], [9, -5, -5], [9, -5, 5], [9, 5, 5]))
    now = Agreement().snapshot(decided([9, 5, -5], [9, 5, 5], [9, -5, -5], [9, 5, 5]))
    assert Agreement().change(before, now) == 0.5
    assert Agreement().change(before, before) == 0.0


@given(st.integers(0, 99))
def test_divergence_equals_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.dirichlet(np.ones(4), size=2), rng.dirichlet(np.ones(4), size=2)
    expected = [jensenshannon(a, b) ** 2 for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(jensen_shannon(one, other), expected, atol=1e-12)


def test_zero_probabilities_give_a_finite_divergence() -> None:
    sure = np.array([[1.0, 0.0]])
    assert jensen_shannon(sure, sure).tolist() == [0.0]


def test_divergence_changes_where_agreement_does_not() -> None:
    calm, moved = model([0, 1], [0, 1]), model([0, 1], [0, 1])
    moved.unlabelled().logits[:] /= 5
    assert Agreement().change(Agreement().snapshot(calm), Agreement().snapshot(moved)) == 0
    assert Divergence().change(Divergence().snapshot(calm), Divergence().snapshot(moved)) > 0.01


@given(ANSWERS, st.data())
def test_drift_is_the_z_of_mcnemar_and_never_negative(checks: list[int], data: st.DataObject) -> None:
    rows, size = [*range(len(checks))], st.lists(st.integers(0, 2), min_size=len(checks), max_size=len(checks))
    first, second = data.draw(size), data.draw(size)
    was, became = ([a != c for a, c in zip(answers, checks, strict=True)] for answers in (first, second))
    more = sum(b and not a for a, b in zip(was, became, strict=True))
    fewer = sum(a and not b for a, b in zip(was, became, strict=True))
    found = Drift().change(*(Drift().snapshot(model(rows, answers, checks)) for answers in (first, second)))
    expected = 0.0 if more <= fewer else (more - fewer) / (more + fewer) ** 0.5
    assert abs(found - expected) < 1e-12


def test_with_several_labels_a_probe_that_gives_no_class_is_not_contradicted() -> None:
    def against(logits: list[list[float]], probe: list[list[float]]) -> FakeModel:
        sample = Sample(np.arange(len(logits)), np.array(logits), lambda: np.array(probe))
        return FakeModel([[0.0, 1.0, 0.0]], [1], unlabelled=sample, label_sets=LabelSets(3))

    unsure, sure = [[-3.0, -2.0, -1.0]] * 25, [[1.0, -2.0, 2.0]] * 25
    follows, differs = [[5.0, -5.0, 6.0]] * 25, [[-5.0, 5.0, -5.0]] * 25
    quiet = Drift().snapshot(against(follows, unsure))
    assert Drift().change(quiet, Drift().snapshot(against(differs, unsure))) == 0.0
    quiet = Drift().snapshot(against(follows, sure))
    assert Drift().change(quiet, Drift().snapshot(against(differs, sure))) == 5.0
    # A probe that becomes sure of an answer which the model has not given before is no drift.
    unlike = Drift().snapshot(against(differs, unsure))
    assert Drift().change(unlike, Drift().snapshot(against(differs, sure))) == 0.0
