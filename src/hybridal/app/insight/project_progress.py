"""The data of the pages Progress and Review: learning curve, calibration, time saved, doubtful texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.schema import Class, Consensus, Prediction, Text, Trainer
from hybridal.app.insight.answerable import answerable
from hybridal.app.insight.set_progress import set_balance, validation_decisions
from hybridal.app.labelling.consensus import counts, new_labels
from hybridal.app.labelling.learnt_predictions import FROM_LABELS, are_from_names
from hybridal.app.project import ChapterRecord, Project, chapter_folders, read_chapters
from hybridal.app.project_settings import read
from hybridal.core.rounds import MultiLabelMetrics, Round
from hybridal.core.rules import Rules
from hybridal.measures.advice import advise
from hybridal.measures.certainty import shown
from hybridal.measures.guessing import is_guessing
from hybridal.reports.encoder_story import encoder_story, larger_encoder
from hybridal.reports.number_formats import duration
from hybridal.schedules import switched_after
from hybridal.sentences import Sentence


def progress(project: Project) -> dict[str, Any]:
    """The learning curve, calibration, time saved and labels per class, with signal and switch of the newest chapter.

    Rounds are counted through all chapters. Accuracy has its Wilson 95% interval; NLL and ECE are computed from the
    calibrated probabilities, which people see. The temperature is fitted on the same validation texts, so ECE and the
    calibration plot are slightly optimistic. If a text may have several classes, the calibration is that of decisions,
    and `low` and `high` are the interval of micro-F1. `answers` says how many texts the model can answer alone.
    """
    chapters = read_chapters(chapter_folders(project.runs))
    newest = chapters[-1] if chapters else None
    rule = newest.schedule.rule if newest else None
    switch = switched_after(newest.schedule, newest.history) if newest else None
    with project.reads() as session:
        several = read(session)["multi_label"]
        classes = set_balance(session) if several else class_balance(session)
        decided = validation_decisions(session, project) if several else validation_predictions(session)
        bins = calibration_bins([] if are_from_names(session) else decided)
        answered = [] if are_from_names(session) else answerable(session, project, several)
        since, n = new_labels(session, session.get_one(Trainer, 1).learnt_annotation), counts(session)
    history = newest.history if newest else ()
    advice = advise(history, len(classes), n["texts"] - n["labelled"]) if history else None
    validation = history[-1].validation if history else None
    guesses = validation is not None and is_guessing(validation)
    return {
        "rounds": [row for chapter in chapters for row in round_rows(chapter)],
        "switch": newest.before + switch if newest and switch else None,
        "signal": {"name": rule.signal.name, "epsilon": rule.detector.epsilon} if rule else None,
        "calibration": bins,
        # Training a model that only guesses in less time saves nothing.
        "saved": saving(
            [] if guesses else [record for chapter in chapters for record in chapter.history],
            newest.rules if newest else Rules(),
        ),
        "balance": classes,
        "advice": advice.sentence if advice else None,
        "answers": Sentence.sequence(*answered) if answered else None,
        "encoder": _encoder(newest) if newest else "",
        "finish": {**finish_state(history, since), "advised": bool(advice and advice.stop)},
    }


def _encoder(chapter: ChapterRecord) -> Sentence:
    """Which encoder is used, why, and what a larger one would bring."""
    larger = larger_encoder(chapter.backbone, chapter.history)
    return Sentence.sequence(*encoder_story(chapter.history), *([larger] if larger else []))


def finish_state(history: Sequence[Round], since: int) -> dict[str, Any]:
    """Whether the model is `finished`: its last round trained on all labels, and there were no labels `since`.

    >>> finish_state([], 0)
    {'finished': None, 'sentence': 'There is no model yet.'}
    """
    if not history:
        return {"finished": None, "sentence": Sentence("There is no model yet.")}
    labels, last = history[-1].labels, history[-1].label_changes
    if not (last and last.last):
        sentence = Sentence("The model is not finished. Train it once more on all labels before you use it.")
        return {"finished": False, "sentence": sentence}
    if since:
        finished = Sentence.plural(
            "The model was finished with {n} label.", "The model was finished with {n} labels.", labels
        )
        later = Sentence.plural("{n} label came later.", "{n} labels came later.", since)
        return {"finished": False, "sentence": Sentence.sequence(finished, later, Sentence("Finish it again."))}
    sentence = Sentence.plural(
        "The model is finished: it was trained once more on its only label.",
        "The model is finished: it was trained once more on all {n} labels.",
        labels,
    )
    return {"finished": True, "sentence": sentence}


def round_rows(chapter: ChapterRecord) -> list[dict[str, Any]]:
    """A row for each round; `stable` says whether the signal changed by less than ε."""
    rule = chapter.schedule.rule
    changes = rule.changes(chapter.history) if rule else [None] * len(chapter.history)
    streaks = rule.detector.streaks(changes) if rule else [0] * len(chapter.history)
    return [
        {
            "round": chapter.before + record.round,
            "update": record.update,
            "reason": record.reason,
            "labels": record.labels,
            **_measures(record),
            "seconds": sum(record.seconds.values()),
            "signal": change,
            "stable": streak > 0,
            "epsilon": rule.detector.epsilon if rule else None,
        }
        for record, change, streak in zip(chapter.history, changes, streaks, strict=True)
    ]


def class_balance(session: Session) -> list[dict[str, Any]]:
    """The number of labels of each active class, in the order of the classes."""
    counts = (
        select(Class.name, func.count(Consensus.text_row))
        .outerjoin(Consensus, Consensus.class_number == Class.number)
        .where(Class.merged_into.is_(None), Class.archived == "")
        .group_by(Class.number, Class.name, Class.position)
        .order_by(Class.position, Class.number)
    )
    return [{"class": name, "n": n} for name, n in session.execute(counts)]


def _measures(record: Round) -> dict[str, float | None]:
    found = record.validation
    if found is None:
        return dict.fromkeys(("accuracy", "low", "high", "f1", "f1_low", "f1_high", "f1_classes", "nll", "ece"))
    figures = shown(found)
    if isinstance(found, MultiLabelMetrics):
        macro = {f"f1{part}": figures[f"macro_f1{part}"] for part in ("", "_low", "_high", "_classes")}
        return {
            "accuracy": None,
            **{name: figures[name] for name in ("micro_f1", "exact_match", "lrap")},
            **macro,
            "low": figures["micro_f1_low"],
            "high": figures["micro_f1_high"],
            "nll": found.nll_scaled,
            "ece": figures["ece_scaled"],
        }
    return {
        **{name: figures[name] for name in ("accuracy", "f1", "f1_low", "f1_high", "f1_classes")},
        "low": figures["accuracy_low"],
        "high": figures["accuracy_high"],
        "nll": found.nll_scaled,
        "ece": figures["ece_scaled"],
    }


def saving(history: Sequence[Round], rules: Rules) -> dict[str, Any]:
    """What fine-tuning has saved: seconds, the `share` of steps of always retraining, and a sentence.

    The steps that retraining would have taken follow from the rules or, with early stopping, from the average number of
    passes of the retrains so far; its seconds from their average seconds per step. The sentence names steps first,
    because seconds depend on the machine and its load.
    """
    retrains = [record for record in history if record.update == "retrain" and record.cost.steps]
    tuned = [record for record in history if record.update != "retrain" and record.cost.steps]
    if not tuned:
        unsaved = Sentence(
            "No update so far continued training from the previous weights, so nothing has been saved yet."
        )
        sentence = unsaved if history else ""
        return {"seconds": 0.0, "share": 0.0, "sentence": sentence}
    if not sum(record.cost.examples for record in retrains):
        return {"seconds": 0.0, "share": 0.0, "sentence": Sentence("There has been no retraining to compare with yet.")}
    examples, taken = (sum(getattr(record.cost, name) for record in retrains) for name in ("examples", "steps"))
    passes = sum(record.cost.examples / record.labels for record in retrains if record.labels) / len(retrains)
    if rules.stop_after is None:
        # Class names and descriptions are training examples too.
        extra = round(
            sum(record.cost.examples / record.cost.epochs - record.labels for record in retrains) / len(retrains)
        )
        sizes = [record.labels + extra for record in tuned]
        steps = [rules.epochs(size) * math.ceil(size / rules.train_batch) for size in sizes]
    else:
        steps = [round(passes * record.labels * taken / examples) for record in tuned]
    spent = sum(record.cost.steps for record in tuned)
    pace = sum(record.training_time for record in retrains) / taken
    seconds = sum(step * pace - record.training_time for step, record in zip(steps, tuned, strict=True))
    whole = sum(steps) + sum(record.cost.steps for record in retrains)
    share = (sum(steps) - spent) / whole if whole else 0.0
    return {"seconds": seconds, "share": share, "sentence": _sentence(history, tuned, spent, sum(steps), seconds)}


def _sentence(history: Sequence[Round], tuned: Sequence[Round], spent: int, instead: int, seconds: float) -> Sentence:
    updates = Sentence.plural(
        "{tuned} of {n} update continued from the previous weights.",
        "{tuned} of {n} updates continued from the previous weights.",
        len(history),
        tuned=len(tuned),
    )
    steps = Sentence.plural(
        "That took {spent} steps where retraining would have taken about {n} step.",
        "That took {spent} steps where retraining would have taken about {n} steps.",
        instead,
        spent=f"{spent:,}",
    )
    if spent >= instead:
        return Sentence.sequence(updates, steps, Sentence("So nothing was saved."))
    saved = [Sentence("It saved about {time}.", time=duration(seconds))] if seconds > 0 else []
    return Sentence.sequence(updates, steps, *saved)


BINS = 10


def calibration_bins(predictions: Iterable[tuple[float, bool]], bins: int = BINS) -> list[dict[str, Any]]:
    """Bins of equal width by confidence, open below and closed above; predictions are (probability, is_right).

    >>> calibration_bins([(0.6, True), (0.9, True), (0.8, False)], bins=2)[1]
    {'low': 0.5, 'high': 1.0, 'confidence': 0.7666666666666666, 'accuracy': 0.6666666666666666, 'n': 3}
    """
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    edges = [bin / bins for bin in range(bins + 1)]
    for sure, right in predictions:
        place = sum(sure > edge for edge in edges[1:-1])
        members[place].append((sure, right))
    return [
        {
            "low": low,
            "high": high,
            "confidence": sum(sure for sure, _ in inside) / max(1, len(inside)),
            "accuracy": sum(right for _, right in inside) / max(1, len(inside)),
            "n": len(inside),
        }
        for low, high, inside in zip(edges, edges[1:], members, strict=False)
    ]


def validation_predictions(session: Session) -> list[tuple[float, bool]]:
    """The newest model's predictions for validation texts: the probability, and whether the label agrees."""
    found = (
        select(Prediction.probability, Prediction.class_number == Consensus.class_number)
        .join(Consensus, Consensus.text_row == Prediction.text_row)
        .join(Text, Text.row == Prediction.text_row)
        .where(Text.split == "validation")
    )
    return [(sure, bool(right)) for sure, right in session.execute(found)]


MIN_PROBABILITY = 0.5  # more probable than all other classes together


def review_texts(session: Session, limit: int = 50) -> dict[str, list[dict[str, Any]]]:
    """The unlabelled texts with the least certain predictions, and the labels that the newest model contradicts.

    The model has learned the labels of pool texts. If it contradicts one anyway, the label does not fit the others, so
    false alarms are rare, but label errors that the model has memorised are missed. It never learns validation labels.
    """
    return {"uncertain": uncertain(session, limit), "contradicted": contradicted(session, limit)}


def uncertain(session: Session, limit: int) -> list[dict[str, Any]]:
    """The scored texts without a label and with the highest entropy, except those on which people disagree."""
    found = (
        select(Text.id, Text.body, Class.name, Prediction.probability, Prediction.entropy)
        .join(Prediction, Prediction.text_row == Text.row)
        .join(Class, Class.number == Prediction.class_number)
        .outerjoin(Consensus, Consensus.text_row == Text.row)
        .where(Consensus.text_row.is_(None), Text.vote_count < 2)
        .order_by(Prediction.entropy.desc(), Prediction.text_row.desc())
        .limit(limit)
    )
    names = ("id", "text", "prediction", "probability", "entropy")
    return [dict(zip(names, row, strict=True)) for row in session.execute(found)]


def contradicted(session: Session, limit: int) -> list[dict[str, Any]]:
    """The labelled texts with another predicted class, the most certain first, except those decided by a reviewer."""
    given, predicted = aliased(Class), aliased(Class)
    found = (
        select(Text.id, Text.body, given.name, predicted.name, Prediction.probability)
        .join(Consensus, Consensus.text_row == Text.row)
        .join(Prediction, Prediction.text_row == Text.row)
        .join(given, given.number == Consensus.class_number)
        .join(predicted, predicted.number == Prediction.class_number)
        .where(
            FROM_LABELS,
            Prediction.class_number != Consensus.class_number,
            Prediction.probability >= MIN_PROBABILITY,
            Consensus.source != "adjudicated",
        )
        .order_by(Prediction.probability.desc(), Text.row)
        .limit(limit)
    )
    names = ("id", "text", "class", "prediction", "probability")
    return [dict(zip(names, row, strict=True)) for row in session.execute(found)]
