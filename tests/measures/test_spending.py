from __future__ import annotations

from dataclasses import replace

import pytest

from hybridal.core.rounds import Metrics
from hybridal.measures.forecast import Observation, forecast
from hybridal.measures.model_errors import ClassErrors, ModelErrors
from hybridal.measures.spending import LabellingModel, Prices, error_sentences, offers, who_labels_next
from hybridal.testing import fake_history

HISTORY = fake_history((), seed=1, rounds=4)
SEEN = [Observation(100, 36, 50, 0.71), Observation(132, 38, 50, 0.75, disagreement=0.08)]


def test_a_label_of_a_model_brings_what_it_weighs() -> None:
    people, model = offers(SEEN, 2, 5000, Prices(0.2, 0.02), weight=0.25)
    assert (people.labels, people.money) == (300, 60.0)
    assert (model.labels, model.money) == (3000, 60.0)
    for offer, worth in ((people, 300), (model, 750)):
        found = forecast(SEEN, 132 + worth, 2)
        assert found is not None
        assert offer.gain == found.f1_gain


def test_no_more_texts_are_offered_than_are_left() -> None:
    people, model = offers(SEEN, 2, 40, Prices(1, 0.001), weight=1)
    assert (people.labels, model.labels) == (40, 40)
    assert offers(SEEN, 2, 0, Prices(1, 0.1), 1) == []


def test_labels_that_count_nothing_bring_nothing() -> None:
    model = offers(SEEN, 2, 500, Prices(1, 0.5), weight=0.0)[1]
    assert model.gain is not None
    assert model.gain.expected == 0
    assert "They should bring about 0.0 points" in model.sentence


def test_without_a_forecast_nothing_is_claimed() -> None:
    assert "What they bring is not known yet" in offers([Observation(20)], 2, 500, Prices(1, 0.5), 1)[0].sentence


@pytest.mark.parametrize("texts", [0, 4])
def test_few_comparisons_say_nothing_of_classes(texts: int) -> None:
    found = error_sentences("m", ModelErrors(texts, 0, (ClassErrors(texts, 0, 0),)), ["a"])
    assert len(found) == (1 if texts else 0)


def test_a_gain_that_validation_cannot_tell_is_a_range_only() -> None:
    people = offers(SEEN, 2, 500, Prices(0.5))[0]
    assert "They may change the score by -0.5 to 12.4 points (90% interval); there are too few" in people.sentence


def test_without_a_model_people_are_compared_with_stopping() -> None:
    people, stopping = who_labels_next(HISTORY, ["bug", "idea"], 500, Prices(0.5, seconds=12))
    assert people.startswith("300 more labels by people take about 1.0 h and cost 150.00. They should bring ")
    assert stopping.startswith("Stopping costs nothing: the score stays at about 9")
    assert who_labels_next(HISTORY, ["bug", "idea"], 0, Prices(0.5)) == []


def test_a_model_that_guesses_has_no_forecast() -> None:
    guesses = [
        replace(one, validation=Metrics(50, 25, 0.5, 0.3, 0.9, 0.3, 0.4, 0.7, 0.2, support=(25, 25))) for one in HISTORY
    ]
    assert who_labels_next(guesses, ["bug", "idea"], 500, Prices(0.5)) == [
        "300 more labels by people cost 150.00. What they bring is not known yet."
    ]


def test_the_errors_of_the_model_follow_what_it_costs() -> None:
    errors = ModelErrors(40, 30, (ClassErrors(25, 15, 15), ClassErrors(15, 25, 15)))
    model = LabellingModel("small", errors, weight=0.3)
    found = who_labels_next(HISTORY, ["bug", "idea"], 5000, Prices(0.2, 0.0018), model)
    assert found[1].startswith("5,000 labels by the model cost 9.00. ")
    assert found[2].startswith("small agrees with people on 75%")
    assert found[3].startswith("It gives 'bug' too often")
    assert found[-1].startswith("Stopping")
