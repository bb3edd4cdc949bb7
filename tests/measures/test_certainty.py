from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from hybridal.core.rounds import Metrics, MultiLabelMetrics
from hybridal.measures.certainty import f1_in_words, figures_in_words, interval, known, known_f1, shown, wilson
from hybridal.measures.metrics import macro_f1
from hybridal.measures.multi_label import f1_scores


def measured(*support: int, f1: float = 0.8) -> Metrics:
    n = sum(support)
    right = round(f1 * n)
    return Metrics(n, right, right / n, f1, 0.5, 0.1, 0.2, 0.4, 0.05, support=support)


@given(st.integers(1, 5000), st.data())
def test_accuracy_interval_equals_statsmodels(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    low, high = wilson(right, n)
    assert (low, high) == pytest.approx(proportion_confint(right, n, method="wilson"), abs=1e-12)
    assert 0 <= low <= right / n <= high <= 1


def test_accuracy_interval_without_answers_is_0_to_1() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("support", "is_known"),
    [
        ((10, 10), True),
        ((10, 9), False),  # fewer than 20 texts
        ((19, 1), True),
        ((20, 0), False),  # one of two classes tells nothing about the other
        ((15, 5, 0), True),  # two of three do
        ((4,) * 5, True),
        ((2,) * 24 + (0,) * 40, False),  # 48 texts for 64 classes
        ((2,) * 64, True),
        ((4,) * 32 + (0,) * 32, False),
    ],
)
def test_a_macro_f1_needs_texts_and_classes(support: tuple[int, ...], is_known: bool) -> None:
    assert (known_f1(measured(*support)) is not None) is is_known


def test_a_record_without_texts_per_class_has_no_macro_f1() -> None:
    assert known_f1(Metrics(2000, 1600, 0.8, 0.8, 0.5, 0.1, 0.2, 0.4, 0.05)) is None


def test_perfect_answers_on_few_texts_have_a_wide_interval() -> None:
    found = known_f1(measured(10, 10, f1=1.0))
    assert found is not None
    assert found.low < 0.85
    assert found.high == 1.0


def test_a_rare_class_widens_the_interval() -> None:
    even, skewed = known_f1(measured(50, 50)), known_f1(measured(96, 4))
    assert even is not None
    assert skewed is not None
    assert skewed.high - skewed.low > 1.5 * (even.high - even.low)


def test_text_names_the_number_of_classes() -> None:
    assert f1_in_words(measured(15, 10, 0)).endswith("over 2 of 3 classes")
    assert "over" not in f1_in_words(measured(15, 10))


def test_calibration_errors_of_few_texts_are_not_known() -> None:
    assert known(measured(50, 50), "ece_scaled") == 0.05
    assert known(measured(50, 49), "ece_scaled") is None


def test_figures_for_programs_have_no_counts_per_class_and_null_what_is_not_known() -> None:
    figures = shown(measured(8, 0))
    assert {name for name, value in figures.items() if value is None} == {
        *("f1", "f1_low", "f1_high", "f1_classes", "ece", "ece_scaled")
    }
    assert "support" not in figures


@pytest.mark.parametrize(
    ("shares", "n"),
    [((0.5, 0.5), 20), ((0.25,) * 4, 40), ((0.8, 0.15, 0.05), 50), ((0.9, 0.08, 0.02), 100), ((1 / 64,) * 64, 130)],
)
def test_accuracy_interval_covers_the_truth(shares: tuple[float, ...], n: int) -> None:
    rng, classes = np.random.default_rng(0), len(shares)

    def answers(size: int) -> tuple[np.ndarray, np.ndarray]:
        labels, wrong = rng.choice(classes, (2, size), p=shares)
        return labels, np.where(rng.random(size) < 0.75, labels, wrong)

    truth, held, told = macro_f1(*answers(200_000), classes), 0, 0
    for _ in range(300):
        labels, predictions = answers(n)
        support = tuple(np.bincount(labels, minlength=classes).tolist())
        right = int((labels == predictions).sum())
        f1 = macro_f1(labels, predictions, classes)
        found = known_f1(Metrics(n, right, right / n, f1, 0.5, 0.1, 0.2, 0.4, 0.05, support=support))
        if found is not None:
            told, held = told + 1, held + (found.low <= truth <= found.high)
    assert told > 200
    assert held / told > 0.9


def several(n: int, support: tuple[int, ...], f1: float = 0.6) -> MultiLabelMetrics:
    """Metrics with several labels per text: `support` counts the texts of each class and does not sum to n."""
    figures: dict[str, Any] = {"given": support, "hits": (0,) * len(support), "support": support}
    return MultiLabelMetrics(
        n, n // 4, 0.25, f1, 0.3, 0.1, 0.1, 0.2, 0.05, micro_f1=0.7, lrap=0.8, hamming=0.1, **figures
    )


@pytest.mark.parametrize(
    ("n", "support", "is_known"),
    [
        (40, (30, 25, 20), True),  # more positives than texts
        (19, (19, 19), False),  # fewer than 20 texts
        (200, (3, 2, 0), False),  # 5 positives for 3 classes, and the other texts have none
        (200, (3, 3, 0), True),
        (30, (20,) * 4 + (0,) * 4, False),  # half of the classes
    ],
)
def test_with_several_labels_a_macro_f1_needs_texts_that_have_the_classes(
    n: int, support: tuple[int, ...], is_known: bool
) -> None:
    assert (known_f1(several(n, support)) is not None) is is_known


def test_classes_that_always_occur_together_count_as_one() -> None:
    one, both = known_f1(several(60, (60,))), known_f1(several(60, (60, 60)))
    assert one is not None
    assert both is not None
    assert both.high - both.low == pytest.approx(one.high - one.low, rel=0.03)


def test_with_several_labels_each_figure_has_its_own_name() -> None:
    words = figures_in_words(several(40, (30, 25, 20)))
    assert [word.split(" 0.")[0] for word in words] == ["macro-F1", "micro-F1", "LRAP", "exact match", "Hamming loss"]
    assert words[3] == "exact match 0.250 (0.142 to 0.402)"
    assert figures_in_words(several(8, (5, 5, 5)))[:2] == [
        "macro-F1: too few labels to tell",
        "micro-F1: too few labels to tell",
    ]
    figures = shown(several(40, (30, 25, 20)))
    assert {"macro_f1_low", "macro_f1_classes", "micro_f1_high", "exact_match_low", "lrap", "hamming"} <= figures.keys()
    assert not {"accuracy", "f1", "support", "given", "hits"} & figures.keys()
    assert shown(several(8, (5, 5, 5)))["micro_f1"] is None


@pytest.mark.parametrize(("rates", "n"), [((0.4, 0.3, 0.3), 30), ((0.3, 0.1, 0.05, 0.05), 60), ((0.08,) * 20, 100)])
def test_the_intervals_with_several_labels_cover_the_truth(rates: tuple[float, ...], n: int) -> None:
    rng = np.random.default_rng(1)

    def measured_on(size: int) -> Metrics:
        texts = rng.normal(size=(size, 1))  # makes the classes of a text depend on each other
        logits = texts + 1.5 * rng.normal(size=(size, len(rates))) + np.log(np.array(rates) / (1 - np.array(rates)))
        believed = 1 / (1 + np.exp(-logits))
        targets = (rng.random(logits.shape) < believed).astype(np.float64)
        macro, micro = f1_scores(believed >= 0.4, targets)
        support = tuple(targets.sum(axis=0).astype(int).tolist())
        return replace(several(size, support, macro), micro_f1=micro)

    truth, held = measured_on(50_000), {"f1": list[bool](), "micro_f1": list[bool]()}
    for _ in range(200):
        found = measured_on(n)
        for name, inside in held.items():
            if bounds := interval(found, name):
                inside.append(bounds[0] <= getattr(truth, name) <= bounds[1])
    assert all(len(inside) > 100 and np.mean(inside) > 0.9 for inside in held.values())
