"""Who should label next: what more labels cost and bring, by people or by a model, and what stopping means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridal.core.rounds import Round
from hybridal.measures.advice import observations, unclear
from hybridal.measures.certainty import wilson
from hybridal.measures.forecast import Interval, Observation, forecast
from hybridal.measures.guessing import is_guessing
from hybridal.measures.model_errors import MIN_COMPARED, ModelErrors
from hybridal.sentences import Sentence

MORE_BY_PEOPLE = 300


@dataclass(frozen=True)
class Prices:
    """What a label costs.

    Attributes:
        people: The price of a label by people.
        model: The price of one by the model; None without a model, or if it is not known.
        seconds: How long a label by people takes; None if it is not known.
    """

    people: float
    model: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class LabellingModel:
    """A model that labels.

    Attributes:
        name: Its name, for people.
        errors: Its errors on texts that people labelled too.
        weight: How much one of its labels counts, 0 to 1; one by people counts 1.
        note: What people should know about its errors.
    """

    name: str
    errors: ModelErrors
    weight: float
    note: Sentence | None = None


@dataclass(frozen=True)
class Offer:
    """Some more labels, what they cost and what they should bring.

    Attributes:
        by: `people` or `model`.
        labels: How many.
        money: What they cost.
        gain: The gain in macro-F1 (micro-F1 with several labels per text) with its 90% interval; None without forecast.
        seconds: How long they take; None if that is not known.
        is_clear: Whether validation has texts enough to tell the expected gain, and not only its interval.
    """

    by: str
    labels: int
    money: float
    gain: Interval | None
    seconds: float | None = None
    is_clear: bool = True

    @property
    def sentence(self) -> Sentence:
        """The offer for people.

        >>> Offer("people", 300, 60.0, Interval(0.011, -0.002, 0.03), 21600).sentence
        '300 more labels by people take about 6.0 h and cost 60.00. They should bring about 1.1 points (90% interval \
-0.2 to 3.0).'
        """
        return Sentence.sequence(self._cost(), self._gain_in_words())

    def _cost(self) -> Sentence:
        money = f"{self.money:,.2f}"
        if self.by == "model":
            return Sentence.plural(
                "{n} label by the model costs {money}.",
                "{n} labels by the model cost {money}.",
                self.labels,
                money=money,
            )
        if self.seconds is None:
            return Sentence.plural(
                "{n} more label by people costs {money}.",
                "{n} more labels by people cost {money}.",
                self.labels,
                money=money,
            )
        return Sentence.plural(
            "{n} more label by people takes about {time} and costs {money}.",
            "{n} more labels by people take about {time} and cost {money}.",
            self.labels,
            time=_time(self.seconds),
            money=money,
        )

    def _gain_in_words(self) -> Sentence:
        if self.gain is None:
            return Sentence("What they bring is not known yet.")
        parts = (self.gain.expected, self.gain.low, self.gain.high)
        points, low, high = (f"{round(100 * part, 1) + 0.0:.1f}" for part in parts)
        if not self.is_clear:
            return Sentence(
                "They may change the score by {low} to {high} points (90% interval); there are too few validation "
                "labels to tell.",
                low=low,
                high=high,
            )
        return Sentence(
            "They should bring about {points} points (90% interval {low} to {high}).", points=points, low=low, high=high
        )


def offers(
    seen: Sequence[Observation],
    classes: int,
    left: int,
    prices: Prices,
    weight: float = 0.0,
    more: int = MORE_BY_PEOPLE,
) -> list[Offer]:
    """Return what some more labels by people cost and bring, and labels by a model for the same money.

    A label of a model brings as much as its weight in labels by people.

    Args:
        seen: What the rounds so far showed.
        classes: How many classes there are.
        left: How many texts have no label.
        prices: What a label costs.
        weight: How much a label of the model counts, 0 to 1.
        more: How many labels by people.

    Example:
        >>> seen = [Observation(100, 288, 400, 0.71), Observation(132, 304, 400, 0.75, disagreement=0.08)]
        >>> for one in offers(seen, 2, left=2000, prices=Prices(0.2, 0.01), weight=0.6): print(one.sentence)
        300 more labels by people cost 60.00. They should bring about 6.3 points (90% interval 0.4 to 14.4).
        2,000 labels by the model cost 20.00. They should bring about 10.2 points (90% interval 1.0 to 22.7).
    """
    n = min(more, left)
    if n < 1:
        return []
    seconds = None if prices.seconds is None else n * prices.seconds
    found = [_offer("people", n, prices.people, n, seen, classes, seconds)]
    if prices.model is None:
        return found
    by_model = left if prices.model <= 0 else min(left, int(n * prices.people / prices.model))
    if by_model > 0:
        found.append(_offer("model", by_model, prices.model, round(weight * by_model), seen, classes))
    return found


def _offer(
    by: str,
    labels: int,
    price: float,
    worth: int,
    seen: Sequence[Observation],
    classes: int,
    seconds: float | None = None,
) -> Offer:
    """Return the offer of labels that are worth as much as `worth` labels by people."""
    if not worth:
        return Offer(by, labels, labels * price, Interval(0.0, 0.0, 0.0), seconds)
    found = forecast(seen, seen[-1].labels + worth, classes) if seen and classes > 1 else None
    if found is None:
        return Offer(by, labels, labels * price, None, seconds)
    is_clear = unclear(found.f1_gain, seen, classes) is None
    return Offer(by, labels, labels * price, found.f1_gain, seconds, is_clear)


def who_labels_next(
    history: Sequence[Round],
    classes: Sequence[str],
    left: int,
    prices: Prices,
    model: LabellingModel | None = None,
) -> list[Sentence]:
    """Compare more labels by people, more by a model, and stopping, in sentences; [] if all texts are labelled.

    Args:
        history: The rounds so far; while the model only guesses, there is no forecast.
        classes: The names of the classes.
        left: How many texts have no label.
        prices: What a label costs.
        model: The model that labels, if there is one.

    Example:
        >>> from hybridal.testing import fake_history
        >>> history = fake_history((), seed=1, rounds=4)
        >>> for sentence in who_labels_next(history, ["bug", "idea"], 2000, Prices(0.2, seconds=9)): print(sentence)
        300 more labels by people take about 45 min and cost 60.00. They should bring about 3.9 points (90% interval \
0.8 to 7.6).
        Stopping costs nothing: the score stays at about 96 points (90% interval 92 to 99).
    """
    measured = history[-1].validation if history else None
    seen = [] if measured is not None and is_guessing(measured) else observations(history)
    found = [offer.sentence for offer in offers(seen, len(classes), left, prices, model.weight if model else 0.0)]
    if not found:
        return []
    if model is not None:
        found += error_sentences(model.name, model.errors, classes)
        found += [] if model.note is None or not model.errors.texts else [model.note]
    return [*found, *_stopping(seen, len(classes))]


def error_sentences(name: str, errors: ModelErrors, classes: Sequence[str]) -> list[Sentence]:
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
    if errors.texts < MIN_COMPARED:
        return [
            Sentence.plural(
                "{name} and people have both labelled only {n} text: too few to tell how good it is.",
                "{name} and people have both labelled only {n} texts: too few to tell how good it is.",
                errors.texts,
                name=name,
            )
        ]
    low, high = wilson(errors.alike, errors.texts)
    found = [
        Sentence.plural(
            "{name} agrees with people on {share} (95% interval {low} to {high}) of {n} text that both labelled.",
            "{name} agrees with people on {share} (95% interval {low} to {high}) of {n} texts that both labelled.",
            errors.texts,
            name=name,
            share=f"{errors.alike / errors.texts:.0%}",
            **_percents(low, high),
        )
    ]
    for label, one in zip(classes, errors.classes, strict=True):
        if one.over_called:
            range_ = _percents(*one.precision_interval)
            found.append(
                Sentence(
                    "It gives '{label}' too often: right in {low} to {high} (95% interval).", label=label, **range_
                )
            )
        if one.under_called:
            range_ = _percents(*one.recall_interval)
            found.append(
                Sentence(
                    "It gives '{label}' too rarely: it finds {low} to {high} (95% interval).", label=label, **range_
                )
            )
    return found


def _stopping(seen: Sequence[Observation], classes: int) -> list[Sentence]:
    now = None if not seen or classes < 2 else forecast(seen, seen[-1].labels, classes)
    if now is None or now.f1 is None:
        return []
    value, low, high = (f"{100 * part:.0f}" for part in (now.f1.expected, now.f1.low, now.f1.high))
    return [
        Sentence(
            "Stopping costs nothing: the score stays at about {score} points (90% interval {low} to {high}).",
            score=value,
            low=low,
            high=high,
        )
    ]


def _time(seconds: float) -> str:
    """Write a time in hours, or in minutes if it is less than one.

    >>> _time(5400), _time(10)
    ('1.5 h', '1 min')
    """
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{max(1, round(seconds / 60))} min"


def _percents(low: float, high: float) -> dict[str, str]:
    return {"low": f"{low:.0%}", "high": f"{high:.0%}"}
