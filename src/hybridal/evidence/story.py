"""What happened in a run, in plain words and in the order in which it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hybridal.evidence.formats import big, count, counted, duration, joined, rounds_between, score, threshold, times
from hybridal.evidence.summary import Stretch, changes, detector_of, final, stretches, total_cost, total_seconds
from hybridal.facts import Round
from hybridal.schedules import Schedule
from hybridal.stabilisation import Stabilisation

# What a signal's name means, as the subject of "changed by less than".
_SUBJECTS = {
    "accuracy": "validation accuracy",
    "f1": "validation macro-F1",
    "loss": "the validation loss",
    "alpha": "the spectral exponent of the weights (α)",
    "alpha-tail": "the tail exponent of the weights' spectra",
    "cka": "the features of the validation texts",
    "nc": "the spread of features within a class",
    "nc-labelled": "the spread of the labelled texts' features within a class",
    "weight-distance": "the weights",
}
_POINTS = ("accuracy", "f1")


def story(history: Sequence[Round], schedule: Schedule, planned: int | None = None) -> list[str]:
    """The first paragraph of a report, as sentences."""
    if not history:
        return ["No round is complete yet: there is nothing to report so far."]
    return [
        _how_far(history, planned),
        *_strategy(history, schedule),
        *_quality(history),
    ]


def cost_story(history: Sequence[Round]) -> list[str]:
    """What the run took: counted first, because that is true on any machine, then timed."""
    if not history:
        return []
    cost, seconds = total_cost(history), total_seconds(history)
    counted_ = (
        f"Training took {counted(cost.steps, 'optimiser step')} over {big(cost.examples)} examples "
        f"and {big(cost.tokens)} tokens ({counted(cost.epochs, 'epoch')} in all)."
    )
    if not seconds:
        return [counted_]
    parts = [f"{phase} {duration(spent)}" for phase, spent in seconds.items() if spent > 0]
    return [counted_, f"By the clock that was {duration(sum(seconds.values()))} of work: {joined(parts)}."]


def settles(signal: str, detector: Stabilisation, has: str = "") -> str:
    """What a detector waits for, as a clause; `has` may be "has " for what is still to come.

    >>> settles("accuracy", Stabilisation(0.005, 2))
    'validation accuracy changed by less than 0.5 points twice in a row'
    >>> settles("mine", Stabilisation(0.1, 1), "has ")
    "the signal 'mine' has changed by less than 0.1 once"
    """
    row = times(detector.patience) + (" in a row" if detector.patience > 1 else "")
    if signal == "gradient-norm":
        was = "has been" if has else "was"
        return f"the gradient of the validation loss {was} shorter than {threshold(detector.epsilon)} {row}"
    subject = _SUBJECTS.get(signal, f"the signal '{signal}'")
    size = f"{threshold(100 * detector.epsilon)} points" if signal in _POINTS else threshold(detector.epsilon)
    # The weights and the features are several.
    has = has.replace("has", "have") if signal in ("weight-distance", "cka") else has
    return f"{subject} {has}changed by less than {size} {row}"


def _how_far(history: Sequence[Round], planned: int | None) -> str:
    done, labels = len(history), counted(history[-1].labels, "label")
    if planned is not None and done < planned:
        return f"The run is not at its end: {done} of {counted(planned, 'round')} are done, with {labels} so far."
    return f"{counted(done, 'round')}, {labels}."


def _strategy(history: Sequence[Round], schedule: Schedule) -> list[str]:
    parts = stretches(history)
    found = detector_of(schedule)
    if found is None and len(parts) > 4:
        return [_mixed(history)]
    if found is None:
        return [_upper(f"{_where(part, parts)} {_did(part.update, part.first)}.") for part in parts]
    signal, detector = found
    t_star = detector.t_star(changes(history, signal))
    first = _upper(f"{_where(parts[0], parts)} {_did(parts[0].update, parts[0].first)}.")
    if t_star is None:
        waits = f"The schedule still waits to switch to fine-tuning: it does once {settles(signal, detector, 'has ')}."
        return [first, waits]
    rounds = [str(number) for number in range(t_star - detector.patience + 1, t_star + 1)]
    when = f"({'round' if len(rounds) == 1 else 'rounds'} {joined(rounds)})"
    if len(parts) == 1:
        return [first, _upper(f"{settles(signal, detector)} {when}, so the next round would be fine-tuned.")]
    then = f"so from round {parts[1].first} on {_did(parts[1].update)}"
    return [first, _upper(f"{settles(signal, detector)} {when}, {then}.")]


def _mixed(history: Sequence[Round]) -> str:
    """For schedules that change their mind often: how often they did what."""
    counts = Counter(fact.update for fact in history)
    parts = [f"'{update}' in {counted(rounds, 'round')}" for update, rounds in counts.most_common()]
    return (
        f"The updates changed {len(stretches(history)) - 1} times: {joined(parts)}; the figure below has each round's."
    )


def _where(part: Stretch, parts: Sequence[Stretch]) -> str:
    if len(parts) == 1:
        return "in every round" if part.rounds > 1 else f"in round {part.first}"
    return f"in {rounds_between(part.first, part.last)}"


def _did(update: str, first: int = 0) -> str:
    """What an update does, as a clause; the words of each update are explained where they are first used."""
    start = " (the first round: from the pretrained ones)" if first == 1 else ""
    name, _, argument = update.partition(":")
    clauses = {
        "retrain": "the model was retrained: from the pretrained weights, on all labels",
        "finetune": f"the model was fine-tuned: it went on from the weights of the round before{start}, on all labels",
        "newonly": f"the model went on from the weights of the round before{start}, on the newest labels alone",
        "anchor": f"the model started between the pretrained weights and the last ones (share {argument or '?'} of the "
        "way), on all labels",
        "replay": f"the model went on from the weights of the round before{start}, on the newest labels and "
        f"{argument or '?'} older ones",
    }
    return clauses.get(name, f"the model was updated by '{update}'")


def _quality(history: Sequence[Round]) -> list[str]:
    found = final(history)
    if found is None:
        return ["There are no labelled validation or test texts, so its quality is not known."]
    split, metrics = found
    temperature = history[-1].temperature
    scaled = f" ({score(metrics.nll_scaled)} after temperature {score(temperature, 2)})" if temperature else ""
    return [
        f"At the end, on {count(metrics.n)} {split} texts: macro-F1 {score(metrics.f1)}, accuracy "
        f"{score(metrics.accuracy)}, negative log-likelihood (NLL) {score(metrics.nll)}{scaled}."
    ]


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
