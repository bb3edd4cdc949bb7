"""Advice on whether to stop labelling: a rule on the forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.measures.certainty import MIN_TEXTS, interval, known
from hybridal.measures.forecast import Forecast, Interval, Observation, forecast
from hybridal.measures.guessing import guessing_in_words
from hybridal.sentences import Sentence, translatable_plural

MIN_LABELS, MIN_PER_CLASS = 200, 5  # no advice to stop before
# A smaller expected gain in macro-F1 is not worth the labels. The smallest that saved 30% of the labels on the runs
# that it was chosen on; on others it saved 33% and cost 0.96 points (`bench/forecasts.py`).
TOLERANCE = 0.0043
DISAGREEMENT_SIGNAL = "agreement"  # the share of changed predictions on unlabelled texts
UNCLEAR_GAIN = 0.1  # an interval from no gain to this much is too wide for advice


@dataclass(frozen=True)
class Advice:
    """Whether to stop labelling.

    Attributes:
        stop: Whether more labels would hardly help.
        forecast: The forecast after the next labels; None if there is none yet.
        sentence: The advice for people. The score is macro-F1 in percentage points, with its 90% interval; with several
            labels per text, micro-F1.
    """

    stop: bool
    forecast: Forecast | None = field(repr=False)
    sentence: str


ALL_LABELLED = Advice(True, None, Sentence("All texts are labelled."))
KEEP, STOP = Sentence("Keep labelling."), Sentence("You can stop.")


def advice(
    seen: Sequence[Observation],
    classes: int,
    ahead: int = 100,
    tolerance: float = TOLERANCE,
    patience: int = 3,
    left: int | None = None,
) -> Advice:
    """Advise to stop when the expected gain in macro-F1 was below the tolerance in `patience` rounds in a row.

    It never advises to stop before 200 labels and five per class, because a model that knows one class only agrees with
    itself perfectly, nor if the interval reaches from no gain to ten points, as with rare classes of which validation
    has hardly any text, nor while validation has texts of at most half of the classes: macro-F1 is not known then. With
    several labels per text all this is about micro-F1, which does not need texts of each class.

    Args:
        seen: What the rounds so far showed.
        classes: How many classes the task has.
        ahead: How many labels to look ahead.
        tolerance: The gain below which labels are not worth it.
        patience: How many rounds in a row the gain must be below it.
        left: How many texts have no label yet, if known; if they are fewer, look ahead to those.

    >>> calm = [Observation(m, 44, 50, 0.88, 0.01) for m in range(500, 700, 32)]
    >>> advice(calm, classes=2).sentence
    '100 more labels should raise the score by about 0.2 points (likely -0.7 to 1.1). You can stop.'
    >>> advice(calm[:2], classes=2).stop
    False
    """
    are_last = left is not None and left < ahead
    ahead = min(ahead, left) if left is not None else ahead
    if ahead < 1 or patience < 1 or tolerance <= 0:
        raise UserError(
            "Advice needs labels to look ahead to, a tolerance above 0 and a patience of at least one round."
        )
    forecasts: list[Forecast | None] = []
    if classes > 1:
        forecasts = [forecast(seen[: i + 1], seen[i].labels + ahead, classes) for i in range(len(seen))[-patience:]]
    if not forecasts or (last := forecasts[-1]) is None:
        if seen and seen[-1].multi_label:
            few = any(each.n for each in seen)
            why = Sentence("Micro-F1 is not known yet: too few labels to tell.") if few else _NO_VALIDATION
            return Advice(False, None, Sentence.sequence(why, KEEP))
        return Advice(False, None, Sentence.sequence(_NOTHING_TO_COMPARE, KEEP))
    if reason := unclear(last.f1_gain, seen, classes):
        return Advice(False, last, Sentence.sequence(_range_in_words(ahead, are_last, last.f1_gain), reason, KEEP))
    stable = len(forecasts) == patience and all(
        each is not None and each.f1_gain.expected < tolerance for each in forecasts
    )
    min_labels = _min_labels(classes)
    stop = stable and seen[-1].labels >= min_labels
    more = Sentence("Label at least {texts} texts.", texts=min_labels)
    end = STOP if stop else more if stable else KEEP
    return Advice(stop, last, Sentence.sequence(_gain_in_words(ahead, are_last, last.f1_gain), end))


_NO_VALIDATION = Sentence("Micro-F1 is not known yet: there are no validation labels.")
_NOTHING_TO_COMPARE = Sentence("There is neither validation nor a second model to compare with yet.")


def advise(history: Sequence[Round], classes: int, left: int | None = None) -> Advice:
    """Return the advice on more labels, the same for library, command line, report and app.

    It is most reliable if the signal `agreement` was watched. As long as the model is not shown to be better than
    guessing on validation, there is no forecast: a model that always gives the same answer agrees with itself
    perfectly.

    Args:
        history: The rounds so far.
        classes: How many classes the task has.
        left: How many texts have no label yet; None if that is not known.

    Returns:
        The advice; if no text is left, it is to stop.
    """
    if history and left == 0:
        return ALL_LABELLED
    measured = history[-1].validation if history else None
    if measured is not None and (guessing := guessing_in_words(measured, "validation")):
        learnt_little = history[-1].labels >= _min_labels(classes) and measured.n >= MIN_TEXTS
        hint = Sentence("Check its labels, or try another backbone.") if learnt_little else KEEP
        return Advice(False, None, Sentence.sequence(guessing, hint))
    return advice(observations(history), classes, left=left)


def unclear(gain: Interval, seen: Sequence[Observation], classes: int) -> Sentence | None:
    """Return why validation cannot tell what more labels bring; None if it can.

    >>> unclear(Interval(0.05, -0.02, 0.3), [Observation(100, 36, 50, 0.71)], 2)
    'There are too few validation labels to tell.'
    """
    support = next((each.support for each in reversed(seen) if each.n and not each.multi_label), ())
    present = sum(texts > 0 for texts in support)
    if len(support) == classes and 2 * present <= classes:
        return Sentence(
            "Validation has texts of only {present} of {classes} classes.", present=present, classes=classes
        )
    few = gain.low <= 0 and gain.high >= UNCLEAR_GAIN
    return Sentence("There are too few validation labels to tell.") if few else None


def texts_left(history: Sequence[Round], texts: int, shares: bool) -> int:
    """Return how many texts of the pool have no label after these rounds.

    Args:
        history: The rounds so far.
        texts: How many texts the pool has.
        shares: Whether validation texts are drawn from the pool (`validation: share` in the protocol).
    """
    if not history:
        return texts
    measured = history[-1].validation if shares else None
    return max(0, texts - history[-1].labels - (measured.n if measured else 0))


def _min_labels(classes: int) -> int:
    return max(MIN_LABELS, MIN_PER_CLASS * classes)


def used_up(history: Sequence[Round], late_class: int | None = None) -> bool:
    """Whether no text was left after the last round; before the round of a late class, its texts may still follow."""
    if not history or (late_class is not None and history[-1].round < late_class):
        return False
    return not history[-1].acquired and not history[-1].held


def got_no_labels(history: Sequence[Round]) -> bool:
    """Whether no label came for the last round: the annotator has no more, for example because its budget is used up.

    >>> from hybridal.testing import fake_history
    >>> got_no_labels(fake_history((), seed=1, rounds=2))
    False
    """
    changes = history[-1].label_changes if len(history) > 1 else None
    return changes is not None and not changes.last and not changes.changed


def observations(history: Sequence[Round]) -> list[Observation]:
    """Return one observation per round, oldest first; rounds without new labels are merged with the one before.

    The metrics of cross-fitted probes are not used: texts that a model chose are harder than those it will be used on.
    With several labels per text, micro-F1 is taken where there are enough texts to know it.
    """
    seen: list[Observation] = []
    for record in history:
        disagreement, several = record.changes.get(DISAGREEMENT_SIGNAL), bool(record.thresholds)
        f1 = "micro_f1" if several else "f1"
        now = Observation(record.labels, disagreement=disagreement, multi_label=several)
        if (measured := record.validation) is not None:
            now = replace(
                now,
                right=measured.right,
                n=measured.n,
                f1=known(measured, f1) if several else measured.f1,
                support=measured.support,
                f1_interval=interval(measured, f1) if several else None,
            )
        while seen and seen[-1].labels >= now.labels:
            # Keep the larger disagreement: a round without new labels does not undo the changes of the one before.
            moved = [each.disagreement for each in (seen.pop(), now) if each.disagreement is not None]
            now = replace(now, disagreement=max(moved, default=None))
        seen.append(now if seen else replace(now, disagreement=None))
    return seen


def _range_in_words(count: int, are_last: bool, gain: Interval) -> Sentence:
    """Describe a gain of which only the range is known.

    >>> _range_in_words(100, False, Interval(0.05, -0.02, 0.3))
    '100 more labels may change the score by -2 to 30 points.'
    """
    low, high = (round(100 * bound) for bound in (gain.low, gain.high))
    if are_last:
        return Sentence.plural(
            "The last label may change the score by {low} to {high} points.",
            "The last {n} labels may change the score by {low} to {high} points.",
            count,
            low=low,
            high=high,
        )
    return Sentence.plural(
        "{n} more label may change the score by {low} to {high} points.",
        "{n} more labels may change the score by {low} to {high} points.",
        count,
        low=low,
        high=high,
    )


def _gain_in_words(count: int, are_last: bool, gain: Interval) -> Sentence:
    """Describe a gain in macro-F1 in percentage points, below one point with one decimal.

    >>> _gain_in_words(100, False, Interval(0.056, 0.010, 0.124))
    '100 more labels should raise the score by about 6 points (likely 1 to 12).'
    >>> _gain_in_words(1, True, Interval(0.0, -0.007, 0.002))
    'The last label should not raise the score (likely -0.7 to 0.2 points).'
    """
    digits = 0 if gain.expected >= 0.0095 else 1
    expected, *bounds = (round(100 * part, digits) + 0.0 for part in (gain.expected, gain.low, gain.high))
    low, high = (f"{bound:.{digits}f}" for bound in bounds)
    points = f"{expected:.{digits}f}"
    one, many = _GAINS[are_last, "none" if expected <= 0 else "one" if expected == 1 else "many"]
    return Sentence.plural(one, many, count, points=points, low=low, high=high)


# By whether no text is left after these labels, and by the number of points: languages have forms for both numbers.
_GAINS = {
    (False, "many"): translatable_plural(
        "{n} more label should raise the score by about {points} points (likely {low} to {high}).",
        "{n} more labels should raise the score by about {points} points (likely {low} to {high}).",
    ),
    (False, "one"): translatable_plural(
        "{n} more label should raise the score by about 1 point (likely {low} to {high}).",
        "{n} more labels should raise the score by about 1 point (likely {low} to {high}).",
    ),
    (False, "none"): translatable_plural(
        "{n} more label should not raise the score (likely {low} to {high} points).",
        "{n} more labels should not raise the score (likely {low} to {high} points).",
    ),
    (True, "many"): translatable_plural(
        "The last label should raise the score by about {points} points (likely {low} to {high}).",
        "The last {n} labels should raise the score by about {points} points (likely {low} to {high}).",
    ),
    (True, "one"): translatable_plural(
        "The last label should raise the score by about 1 point (likely {low} to {high}).",
        "The last {n} labels should raise the score by about 1 point (likely {low} to {high}).",
    ),
    (True, "none"): translatable_plural(
        "The last label should not raise the score (likely {low} to {high} points).",
        "The last {n} labels should not raise the score (likely {low} to {high} points).",
    ),
}
