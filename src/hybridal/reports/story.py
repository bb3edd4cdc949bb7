"""Describe a run in sentences, in the order of its rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.measures.certainty import figures_in_words
from hybridal.measures.guessing import guessing_in_words
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.encoder_story import encoder_story
from hybridal.reports.history_summary import Streak, final, streaks, total_cost, total_seconds
from hybridal.reports.number_formats import big, counted, duration, joined, rounds_between, score, threshold, times
from hybridal.schedules import Schedule
from hybridal.signals import SIGNALS, Signal

if TYPE_CHECKING:
    from hybridal.measures.advice import Advice


def story(
    history: Sequence[Round],
    schedule: Schedule,
    planned: int | None = None,
    probe_until: int = 0,
    advice: Advice | None = None,
    stops: bool = False,
) -> list[str]:
    """The first paragraph of a report, as sentences.

    Args:
        history: The rounds so far.
        schedule: The schedule that decided their updates.
        planned: How many rounds were planned; None for a learner, which is taught as long as its user likes.
        probe_until: With fewer labels, the model is a probe and no encoder is trained.
        advice: The advice on more labels.
        stops: Whether a run ends by itself where its advice is to stop.
    """
    if not history:
        return ["No round is complete yet: there is nothing to report so far."]
    return [
        _how_far(history, planned, stops and advice is not None and advice.stop),
        *encoder_story(history),
        *_strategy(history, schedule, _probes(history, probe_until)),
        *_quality(history),
        *_outlook(history, advice),
    ]


def outlook(history: Sequence[Round], about: Mapping[str, Any], left: int | None = None) -> Advice | None:
    """Advice on more labels for the end of a run.

    Args:
        history: The rounds so far.
        about: What `run.json` contains.
        left: How many texts have no label; without it, as many as the rounds leave of the task's texts.

    Returns:
        The advice. None if texts are left, the signal `agreement` was not watched, on which the advice mostly depends,
        and the run does not stop by advice.
    """
    from hybridal.measures.advice import advise, texts_left

    task, rules = about.get("task", {}), about.get("protocol", {})
    if left is None and "texts" in task:
        left = texts_left(history, task["texts"], rules.get("validation") == "share")
    watched = any(record.changes.get("agreement") is not None for record in history)
    stops = about.get("settings", {}).get("stop") == "auto"
    return advise(history, len(task.get("classes", ())), left) if history and (watched or stops or left == 0) else None


def guessing(history: Sequence[Round]) -> str:
    """Say that the last model is not shown to be better than guessing; "" if it is better, or was not measured."""
    found = final(history)
    return guessing_in_words(found[1], found[0]) if found else ""


def cost_story(history: Sequence[Round]) -> list[str]:
    """Describe the cost of the run: counts first, which are the same on any machine, then times."""
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
    return [counted_, f"The rounds took {duration(sum(seconds.values()))} of wall-clock time: {joined(parts)}."]


def settles(signal: str, detector: Stabilisation, has: str = "") -> str:
    """What a detector waits for, as a clause; `has` may be "has " for what is still to come.

    >>> settles("accuracy", Stabilisation(0.005, 2))
    'validation accuracy changed by less than 0.5 points twice in a row'
    >>> settles("mine", Stabilisation(0.1, 1), "has ")
    "the signal 'mine' has changed by less than 0.1 once"
    """
    try:
        words = SIGNALS.make(signal).settled
    except UserError:
        words = Signal.settled
    verbs = {"has": has, "have": has.replace("has", "have"), "was": "has been" if has else "was"}
    sizes = {"size": threshold(detector.epsilon), "points": threshold(100 * detector.epsilon)}
    often = times(detector.patience) + (" in a row" if detector.patience > 1 else "")
    return f"{words.format(name=signal, **verbs, **sizes)} {often}"


def _how_far(history: Sequence[Round], planned: int | None, stopped: bool) -> str:
    done, labels = len(history), counted(history[-1].labels, "label")
    last = history[-1].label_changes
    if planned is not None and done < planned and (stopped or (last is not None and last.last)):
        return f"The run ended by itself after {done} of {counted(planned, 'round')}, with {labels}."
    if planned is not None and done < planned:
        return f"The run is not at its end: {done} of {counted(planned, 'round')} are done, with {labels} so far."
    return f"{counted(done, 'round')}, {labels}."


def _probes(history: Sequence[Round], probe_until: int) -> int:
    """The number of rounds before there were enough labels to train."""
    return sum(1 for _ in takewhile(lambda record: record.labels < probe_until, history))


def _strategy(history: Sequence[Round], schedule: Schedule, probes: int) -> list[str]:
    """Describe the updates of the rounds with their reasons; the first `probes` rounds trained no encoder."""
    if not probes:
        return _updates(history, schedule, history)
    told = (
        f"In {rounds_between(history[0].round, history[probes - 1].round)} there were too few labels to train on: the "
        "model was a logistic regression on the features of the pretrained encoder."
    )
    return [told, *(_updates(history[probes:], schedule, history) if probes < len(history) else [])]


def _updates(history: Sequence[Round], schedule: Schedule, whole: Sequence[Round]) -> list[str]:
    if any(record.reason for record in history):
        return _reasons(history)
    parts = streaks(history)
    rule = schedule.rule
    if rule is None and len(parts) > 4:
        return [_mixed(history)]
    if rule is None:
        return [_upper(f"{_where(part, whole)} {_did(part.update, part.first)}.") for part in parts]
    signal, detector, t_star = rule.signal.name, rule.detector, rule.t_star(whole)
    first = _upper(f"{_where(parts[0], whole)} {_did(parts[0].update, parts[0].first)}.")
    if t_star is None:
        waits = f"The schedule still waits to switch to fine-tuning: it does once {settles(signal, detector, 'has ')}."
        return [first, waits]
    rounds = [str(number) for number in range(t_star - detector.patience + 1, t_star + 1)]
    when = f"({'round' if len(rounds) == 1 else 'rounds'} {joined(rounds)})"
    if t_star == whole[-1].round:
        return [first, _upper(f"{settles(signal, detector)} {when}, so the next round would be fine-tuned.")]
    if len(parts) == 1:
        return [first, _upper(f"{settles(signal, detector)} {when} before there was anything to train on.")]
    then = f"so from round {parts[1].first} on {_did(parts[1].update)}"
    return [first, _upper(f"{settles(signal, detector)} {when}, {then}.")]


def _reasons(history: Sequence[Round]) -> list[str]:
    """For schedules that give reasons: each update with its rounds, those with a reason first."""
    told, others = [], [record for record in history if not record.reason]
    for update in dict.fromkeys(record.update for record in history if record.reason):
        rounds = [
            f"round {record.round} ({record.reason})" for record in history if record.update == update and record.reason
        ]
        told.append(f"In {joined(rounds)} {_did(update)}.")
    kinds = list(dict.fromkeys(record.update for record in others))
    for update in kinds:
        rounds = [str(record.round) for record in others if record.update == update]
        where = f"rounds {joined(rounds)}" if len(rounds) > 1 else f"round {rounds[0]}"
        told.append(f"In {'the other rounds' if len(others) > 1 and len(kinds) == 1 else where} {_did(update)}.")
    return told


def _mixed(history: Sequence[Round]) -> str:
    """For schedules that alternate often: how often each update was used."""
    counts = Counter(record.update for record in history)
    parts = [f"'{update}' in {counted(rounds, 'round')}" for update, rounds in counts.most_common()]
    return f"The updates changed {len(streaks(history)) - 1} times: {joined(parts)}; the figure below has each round's."


def _where(part: Streak, history: Sequence[Round]) -> str:
    if 1 < part.rounds == len(history):
        return "in every round"
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
        f"{_older(argument)}",
        "refit": f"the model kept the weights of the round before{start}, and only its head was refitted, to all "
        "labels",
    }
    return clauses.get(name, f"the model was updated by '{update}'")


def _older(argument: str) -> str:
    """Which older labels a replay takes.

    >>> _older("96"), _older("equal:balanced")
    ('96 older ones', 'as many older ones, drawn to balance the classes')
    """
    older, _, draw = argument.partition(":")
    drawn = ", drawn to balance the classes" if draw == "balanced" else ""
    return f"{'as many' if older == 'equal' else older or '?'} older ones{drawn}"


def _quality(history: Sequence[Round]) -> list[str]:
    found = final(history)
    if found is None:
        return ["There are no labelled validation or test texts, so its quality is not known."]
    split, metrics = found
    temperature = history[-1].temperature
    scaled = f" ({score(metrics.nll_scaled)} after temperature {score(temperature, 2)})" if temperature else ""
    figures = (
        f"At the end, on {counted(metrics.n, f'{split} text')}: {', '.join(figures_in_words(metrics))}, "
        f"negative log-likelihood (NLL) {score(metrics.nll)}{scaled}."
    )
    return [figures, *filter(None, [guessing_in_words(metrics, split)])]


def _outlook(history: Sequence[Round], advice: Advice | None) -> list[str]:
    """The advice, without the sentence about guessing if that stands before it already."""
    if advice is None:
        return []
    before = guessing(history)
    return [advice.sentence.removeprefix(before).strip()] if before else [advice.sentence]


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
