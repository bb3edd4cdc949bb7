from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from hybridal.app.web.translations import translation
from hybridal.core.rounds import Metrics, MultiLabelMetrics
from hybridal.measures.guessing import constant_f1, guessing_in_words, is_guessing
from hybridal.sentences import Sentence


def measured(right: int, f1: float, *support: int) -> Metrics:
    n = sum(support)
    return Metrics(n, right, right / n, f1, 0.7, 0.1, 0.5, 0.7, 0.1, support=support)


@pytest.mark.parametrize(
    ("metrics", "guesses"),
    [
        (measured(18, 0.177, 18, 16, 16), True),  # one class always
        (measured(12, 0.6, 10, 10), True),  # 12 of 20 may be luck
        (measured(17, 0.85, 10, 10), False),
        (measured(59, 0.59, 50, 50), True),
        (measured(62, 0.62, 50, 50), False),
        (measured(20, 0.7, 20, 0), True),  # on one class alone a guess is always right
        (measured(184, 0.48, 184, 16), True),
        (measured(188, 0.8, 184, 16), False),  # a rare class shows in macro-F1
    ],
)
def test_a_model_must_beat_the_most_frequent_class_by_more_than_chance(metrics: Metrics, guesses: bool) -> None:
    assert is_guessing(metrics) is guesses
    assert bool(guessing_in_words(metrics, "validation")) is guesses


def test_a_record_without_texts_per_class_is_not_judged() -> None:
    assert not is_guessing(Metrics(20, 5, 0.25, 0.2, 0.7, 0.1, 0.5, 0.7, 0.1))


def test_the_sentence_distinguishes_guessing_from_too_few_texts() -> None:
    assert guessing_in_words(measured(10, 0.33, 10, 10), "test") == (
        "The model is no better than guessing: it is right on 10 of 20 test texts, and always answering the most "
        "frequent class is right on 10."
    )
    assert guessing_in_words(measured(12, 0.6, 10, 10), "test").startswith(
        "The model is not shown to be better than guessing: it is right on 12 of 20 test texts"
    )
    assert "is not shown to be better" in guessing_in_words(measured(3, 0.4, 4, 2), "test"), "six texts tell little"
    assert "1 validation text," in guessing_in_words(measured(1, 1.0, 1, 0), "validation")


def several(n: int, macro: float, micro: float, *support: int) -> MultiLabelMetrics:
    return MultiLabelMetrics(n, 0, 0.0, macro, 0.7, 0.1, 0.5, 0.7, 0.1, support=support, micro_f1=micro)


@pytest.mark.parametrize(
    ("metrics", "guesses"),
    [
        (several(60, 0.42, 0.48, 30, 15, 10), True),  # what constant answers reach: 0.45 and 0.52
        (several(60, 0.75, 0.5, 30, 15, 10), False),
        (several(60, 0.42, 0.72, 30, 15, 10), False),
        (several(10, 1.0, 1.0, 5, 5, 5), True),  # too few texts
        (several(60, 0.0, 0.0, 0, 0, 0), True),
    ],
)
def test_with_several_labels_a_model_must_beat_the_same_classes_for_all(
    metrics: MultiLabelMetrics, guesses: bool
) -> None:
    assert is_guessing(metrics) is guesses
    assert bool(guessing_in_words(metrics, "test")) is guesses


def test_words_with_several_labels() -> None:
    assert guessing_in_words(several(60, 0.42, 0.48, 30, 15, 10), "test") == (
        "The model is no better than guessing: on 60 test texts it has macro-F1 0.42 and micro-F1 0.48, and always "
        "giving the same classes reaches 0.45 and 0.52."
    )
    # Half of the classes occur, so macro-F1 is not known.
    assert guessing_in_words(several(60, 0.9, 0.6, 30, 0), "test") == (
        "The model is no better than guessing: on 60 test texts it has micro-F1 0.60, and always giving the same "
        "classes reaches 0.67."
    )
    assert guessing_in_words(several(10, 0.9, 0.9, 5, 5), "test") == (
        "The model is not shown to be better than guessing: 10 test texts are too few to tell."
    )


def test_no_constant_answer_is_better() -> None:
    rng = np.random.default_rng(0)
    targets = rng.random((50, 4)) < [0.6, 0.4, 0.2, 0.05]
    scores = [
        [f1_score(targets, np.tile(given, (50, 1)), average=kind, zero_division=0.0) for kind in ("macro", "micro")]
        for given in np.ndindex(2, 2, 2, 2)
    ]
    found = constant_f1(several(50, 0, 0, *targets.sum(axis=0).tolist()))
    assert found == pytest.approx(tuple(np.max(scores, axis=0)))


@pytest.mark.parametrize(
    ("metrics", "german"),
    [
        (measured(7, 0.5, 6, 6), "Es ist nicht belegt, dass das Modell besser als Raten ist: bei 7 von 12"),
        (measured(10, 0.33, 10, 10), "Das Modell ist nicht besser als Raten: bei 10 von 20"),
        (several(60, 0.42, 0.48, 30, 15, 10), "Das Modell ist nicht besser als Raten: bei 60 Validierungstexten"),
        (several(10, 0.9, 0.9, 5, 5), "10 Validierungstexte sind zu wenige"),
    ],
)
def test_the_sentence_on_validation_is_translated_within_the_advice(metrics: Metrics, german: str) -> None:
    sentence = Sentence.sequence(guessing_in_words(metrics, "validation"), Sentence("Keep labelling."))
    assert german in translation("de").sentence(sentence)
