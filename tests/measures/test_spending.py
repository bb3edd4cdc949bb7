from __future__ import annotations

import pytest

from hybridal.measures.forecast import Observation, forecast
from hybridal.measures.model_errors import ClassErrors, ModelErrors
from hybridal.measures.spending import error_sentences, offers

SEEN = [Observation(100, 36, 50, 0.71), Observation(132, 38, 50, 0.75, disagreement=0.08)]


def test_a_label_of_a_model_brings_what_it_weighs() -> None:
    people, model = offers(SEEN, 2, 5000, price_people=0.2, price_model=0.02, weight=0.25)
    assert (people.labels, people.money) == (300, 60.0)
    assert (model.labels, model.money) == (3000, 60.0)
    for offer, worth in ((people, 300), (model, 750)):
        found = forecast(SEEN, 132 + worth, 2)
        assert found is not None
        assert offer.gain == found.f1_gain


def test_no_more_texts_are_offered_than_are_left() -> None:
    people, model = offers(SEEN, 2, 40, price_people=1, price_model=0.001, weight=1)
    assert (people.labels, model.labels) == (40, 40)
    assert offers(SEEN, 2, 0, 1, 0.1, 1) == []


def test_labels_that_count_nothing_bring_nothing() -> None:
    model = offers(SEEN, 2, 500, 1, 0.5, weight=0.0)[1]
    assert model.gain is not None
    assert model.gain.expected == 0
    assert "about 0.0 points" in model.sentence


def test_without_a_forecast_nothing_is_claimed() -> None:
    assert "what they bring is not known yet" in offers([Observation(20)], 2, 500, 1, 0.5, 1)[0].sentence


@pytest.mark.parametrize("texts", [0, 4])
def test_few_comparisons_say_nothing_of_classes(texts: int) -> None:
    found = error_sentences("m", ModelErrors(texts, 0, (ClassErrors(texts, 0, 0),)), ["a"])
    assert len(found) == (1 if texts else 0)
