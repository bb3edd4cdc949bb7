"""Whether more labels are worth their while: a rule on the forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.measures.certainty import LEAST_TEXTS
from hybridal.measures.forecast import Forecast, Interval, Observation, forecast
from hybridal.measures.guessing import guessing_in_words

LEAST_LABELS, LEAST_PER_CLASS = 200, 5
DISAGREEMENT = "agreement"  # the signal that counts changed predictions on unlabelled texts
UNCLEAR = 0.1  # an interval from no gain to this much tells nothing


@dataclass(frozen=True)
class Advice:
    """`forecast` is that of the next labels, None where nothing is known; `sentence` says it in words."""

    stop: bool
    forecast: Forecast | None = field(repr=False)
    sentence: str


ALL_LABELLED = Advice(True, None, "All texts are labelled.")


def advice(
    seen: Sequence[Observation],
    classes: int,
    ahead: int = 100,
    tolerance: float = 0.005,
    patience: int = 3,
    left: int | None = None,
) -> Advice:
    """Stop when the next labels were expected to add less than the tolerance in macro-F1, in so many rounds in a row.

    Never before 200 labels and five per class: a model that knows one class only agrees with itself perfectly. Nor
    where the interval reaches from no gain to ten points, as with rare classes that validation hardly has texts of.
    Where fewer texts are `left`, it looks ahead to those.

    >>> calm = [Observation(m, 44, 50, 0.88, 0.01) for m in range(500, 700, 32)]
    >>> advice(calm, classes=2).sentence
    'The next 100 labels are expected to add 0.2 points of macro-F1 (-0.7 to 1.1); you can stop.'
    >>> advice(calm[:2], classes=2).stop
    False
    """
    which, ahead = ("next", ahead) if left is None or left >= ahead else ("last", left)
    if ahead < 1 or patience < 1 or tolerance <= 0:
        raise UserError(
            "Advice needs labels to look ahead to, a tolerance above 0 and a patience of at least one round."
        )
    told: list[Forecast | None] = []
    if classes > 1:
        told = [forecast(seen[: i + 1], seen[i].labels + ahead, classes) for i in range(len(seen))[-patience:]]
    if not told or (last := told[-1]) is None:
        return Advice(
            False, None, "There is neither validation nor a second model to compare with yet; go on labelling."
        )
    which_labels = f"The {which} label" if ahead == 1 else f"The {which} {ahead} labels"
    if last.f1_gain.low <= 0 and last.f1_gain.high >= UNCLEAR:
        low, high = (round(100 * bound, 1) + 0.0 for bound in (last.f1_gain.low, last.f1_gain.high))
        unclear = f"{which_labels} may add {low} to {high} points of macro-F1: too few validation labels to tell"
        return Advice(False, last, f"{unclear}; go on labelling.")
    calm = len(told) == patience and all(each is not None and each.f1_gain.expected < tolerance for each in told)
    least = _least_labels(classes)
    enough = seen[-1].labels >= least
    end = "you can stop" if calm and enough else f"go on until {least} at least" if calm else "go on labelling"
    verb = "is" if ahead == 1 else "are"
    return Advice(calm and enough, last, f"{which_labels} {verb} expected to add {in_points(last.f1_gain)}; {end}.")


def advise(history: Sequence[Round], classes: int, left: int | None = None) -> Advice:
    """Advice on more labels, the same for library, command line, report and app.

    The rounds tell most with the signal `agreement` watched. While the model is not shown to be better than guessing on
    validation, there is no forecast: a model that always gives the same answer agrees with itself perfectly.

    Args:
        history: The rounds so far.
        classes: How many classes the task has.
        left: How many texts have no label yet; None if that is not known.

    Returns:
        The advice, with its sentence; where no text is left, that is its reason to stop.
    """
    if history and left == 0:
        return ALL_LABELLED
    measured = history[-1].validation if history else None
    if measured is not None and (guessing := guessing_in_words(measured, "validation")):
        learnt_little = history[-1].labels >= _least_labels(classes) and measured.n >= LEAST_TEXTS
        hint = "Check its labels, or try another backbone." if learnt_little else "Go on labelling."
        return Advice(False, None, f"{guessing} {hint}")
    return advice(observations(history), classes, left=left)


def texts_left(history: Sequence[Round], texts: int, shares: bool) -> int:
    """How many texts of the pool have no label after these rounds.

    Args:
        history: The rounds so far.
        texts: How many texts the pool has.
        shares: Whether validation texts are drawn from the pool (`validation: share` in the protocol).
    """
    if not history:
        return texts
    measured = history[-1].validation if shares else None
    return max(0, texts - history[-1].labels - (measured.n if measured else 0))


def _least_labels(classes: int) -> int:
    return max(LEAST_LABELS, LEAST_PER_CLASS * classes)


def used_up(history: Sequence[Round], late_class: int | None = None) -> bool:
    """Whether a run found no text to choose after its last round; where a class comes late, its texts may follow."""
    if not history or (late_class is not None and history[-1].round < late_class):
        return False
    return not history[-1].acquired and not history[-1].held


def observations(history: Sequence[Round]) -> list[Observation]:
    """What rounds showed, in order; of rounds between which no label came, the last.

    Cross-fitted probes are left out: labels that a model chose are harder than the texts it is for.
    """
    seen: list[Observation] = []
    for fact in history:
        now = Observation(fact.labels, disagreement=fact.changes.get(DISAGREEMENT))
        if (measured := fact.validation) is not None:
            now = replace(now, right=measured.right, n=measured.n, f1=measured.f1, support=measured.support)
        while seen and seen[-1].labels >= now.labels:
            # What the labels before moved is not undone by a round that adds none.
            moved = [each.disagreement for each in (seen.pop(), now) if each.disagreement is not None]
            now = replace(now, disagreement=max(moved, default=None))
        seen.append(now if seen else replace(now, disagreement=None))
    return seen


def in_points(gain: Interval) -> str:
    """A gain for people, in points of a hundred.

    >>> in_points(Interval(0.0041, -0.0001, 0.011))
    '0.4 points of macro-F1 (0.0 to 1.1)'
    """
    expected, low, high = (round(100 * part, 1) + 0.0 for part in (gain.expected, gain.low, gain.high))
    return f"{expected} points of macro-F1 ({low} to {high})"
