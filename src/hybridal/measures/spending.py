"""What more labels bring for their money, by people or by a model, and what is known of the model's errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridal.measures.forecast import Interval, Observation, forecast
from hybridal.measures.model_errors import ModelErrors

MORE_BY_PEOPLE = 300


@dataclass(frozen=True)
class Offer:
    """Some more labels, what they cost and what they should bring.

    Attributes:
        by: `people` or `model`.
        labels: How many.
        money: What they cost.
        gain: The gain in macro-F1 (micro-F1 with several labels per text) with its 90% interval; None without forecast.
    """

    by: str
    labels: int
    money: float
    gain: Interval | None

    @property
    def sentence(self) -> str:
        """The offer for people.

        >>> Offer("people", 300, 60.0, Interval(0.011, -0.002, 0.03)).sentence
        '300 more labels by people cost 60.00 and should bring about 1.1 points (90% interval -0.2 to 3.0).'
        """
        start = f"{self.labels:,} more label{'' if self.labels == 1 else 's'} by "
        start += "people" if self.by == "people" else "the model"
        if self.gain is None:
            return f"{start} cost {self.money:,.2f}; what they bring is not known yet."
        points = [100 * part for part in (self.gain.expected, self.gain.low, self.gain.high)]
        bring = "should bring about {:.1f} points (90% interval {:.1f} to {:.1f})".format(*points)
        return f"{start} cost {self.money:,.2f} and {bring}."


def offers(
    seen: Sequence[Observation],
    classes: int,
    left: int,
    price_people: float,
    price_model: float,
    weight: float,
    more: int = MORE_BY_PEOPLE,
) -> list[Offer]:
    """Return what some more labels by people cost and bring, and labels by a model for the same money.

    A label of a model brings as much as its weight in labels by people.

    Args:
        seen: What the rounds so far showed.
        classes: How many classes there are.
        left: How many texts have no label.
        price_people: The price of a label by people.
        price_model: The price of one by the model.
        weight: How much a label of the model counts, 0 to 1.
        more: How many labels by people.

    Example:
        >>> seen = [Observation(100, 36, 50, 0.71), Observation(132, 38, 50, 0.75, disagreement=0.08)]
        >>> for one in offers(seen, 2, left=2000, price_people=0.2, price_model=0.01, weight=0.6): print(one.sentence)
        300 more labels by people cost 60.00 and should bring about 4.8 points (90% interval -0.5 to 12.4).
        2,000 more labels by the model cost 20.00 and should bring about 7.7 points (90% interval -0.2 to 19.6).
    """
    n = min(more, left)
    if n < 1:
        return []
    found = [Offer("people", n, n * price_people, _gain(seen, n, classes))]
    by_model = left if price_model <= 0 else min(left, int(n * price_people / price_model))
    if by_model > 0:
        worth = round(weight * by_model)
        gain = _gain(seen, worth, classes) if worth else Interval(0.0, 0.0, 0.0)
        found.append(Offer("model", by_model, by_model * price_model, gain))
    return found


def error_sentences(name: str, errors: ModelErrors, classes: Sequence[str]) -> list[str]:
    """Return how good a model is, for people: overall, and the classes that it gives too often or too rarely.

    >>> from hybridal.measures.model_errors import ClassErrors
    >>> found = ModelErrors(40, 30, (ClassErrors(25, 15, 15), ClassErrors(15, 25, 15)))
    >>> for sentence in error_sentences("m", found, ["bug", "idea"]): print(sentence)
    m agrees with people on 75% (95% interval 60% to 86%) of 40 texts that both labelled.
    It gives 'bug' too often: right in 41% to 77% (95% interval).
    It gives 'idea' too rarely: it finds 41% to 77% (95% interval).
    """
    if not errors.texts:
        return []
    found = [f"{name} agrees with people on {errors.agreement} of {errors.texts:,} texts that both labelled."]
    for label, one in zip(classes, errors.classes, strict=True):
        if one.over_called:
            low, high = one.precision_interval
            found.append(f"It gives '{label}' too often: right in {low:.0%} to {high:.0%} (95% interval).")
        if one.under_called:
            low, high = one.recall_interval
            found.append(f"It gives '{label}' too rarely: it finds {low:.0%} to {high:.0%} (95% interval).")
    return found


def _gain(seen: Sequence[Observation], more: int, classes: int) -> Interval | None:
    if not seen or classes < 2:
        return None
    found = forecast(seen, seen[-1].labels + more, classes)
    return None if found is None else found.f1_gain
