"""How many texts the newest model can answer without a person, with a guaranteed error, now and with more labels."""

from __future__ import annotations

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Consensus, LabelSet, Prediction, Text
from hybridal.app.project import Project
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.error_tests import labels_for
from hybridal.measures.evidence import answer_confidence
from hybridal.measures.selective import Flags, favoured_confidence, labels_needed, planned_share, promise
from hybridal.sentences import Sentence

MAX_ERROR = 0.02
MORE_LABELS = 100
SAMPLE_SIZE = 20_000  # texts without a label by which thresholds are chosen

Answers = tuple[Floats, Flags, Floats]
"""The confidences of answers to random labels, whether each is right, and the confidences of texts without a label."""


def answerable(session: Session, project: Project, several: bool) -> list[Sentence]:
    """Return sentences about how many texts can be answered so that at most 2% are wrong; none without a model."""
    confidences, right, unlabelled = _answers_of_sets(session, project) if several else _answers(session)
    if not len(confidences) or not len(unlabelled):
        return []
    return in_sentences(confidences, right, unlabelled)


def in_sentences(confidences: Floats, right: Flags, unlabelled: Floats) -> list[Sentence]:
    """Return what can be promised, and what more random labels would bring.

    >>> in_sentences(np.full(300, 0.999), np.ones(300, dtype=bool), np.full(50, 0.999))[0]
    'The model can answer 50 of the 50 texts without a label: at most 2% of them are wrong, with 95% confidence.'
    >>> in_sentences(np.full(30, 0.999), np.ones(30, dtype=bool), np.full(50, 0.999))[0]
    'To answer texts with at most 2% errors, with 95% confidence, it takes about 154 random labels; there are 30.'
    """
    labels, texts = len(confidences), len(unlabelled)
    sample = unlabelled[np.linspace(0, texts - 1, min(texts, SAMPLE_SIZE)).astype(np.int64)]
    found = promise(confidences, right, sample, MAX_ERROR)
    now = int(found.answers(unlabelled).sum())
    if found.threshold is not None:
        sentences = [
            Sentence(
                "The model can answer {answered} of the {texts} texts without a label: at most 2% of them are wrong, "
                "with 95% confidence.",
                answered=f"{now:,}",
                texts=f"{texts:,}",
            )
        ]
        later = round(planned_share(confidences, right, sample, MORE_LABELS, MAX_ERROR) * texts)
        if later > now:
            with_more = Sentence("With 100 more random labels it will be about {answered}.", answered=f"{later:,}")
            sentences.append(with_more)
        return sentences
    needed = labels_needed(sample, MAX_ERROR)
    if needed is None:
        return [Sentence("The model is not sure enough of its answers for at most 2% errors; label more texts.")]
    if needed <= labels:
        return [Sentence("The model's surest answers are wrong too often for at most 2% errors; label more texts.")]
    needed = max(needed, labels_for(MAX_ERROR, favoured_confidence(0.95)))
    return [
        Sentence(
            "To answer texts with at most 2% errors, with 95% confidence, it takes about {needed} random labels; "
            "there are {labels}.",
            needed=f"{needed:,}",
            labels=f"{labels:,}",
        )
    ]


def _answers(session: Session) -> Answers:
    labelled = select(Prediction.probability, Prediction.class_number == Consensus.class_number)
    labelled = labelled.join(Consensus, Consensus.text_row == Prediction.text_row)
    labelled = labelled.join(Text, Text.row == Prediction.text_row)
    known = session.execute(labelled.where(Text.split == "validation", Text.deleted.is_(None))).all()
    confidences, right = zip(*known, strict=True) if known else ((), ())
    others = select(Prediction.probability).join(Text, Text.row == Prediction.text_row)
    others = others.where(Text.deleted.is_(None), Prediction.text_row.not_in(select(Consensus.text_row)))
    unlabelled = session.scalars(others.order_by(Prediction.probability)).all()
    return np.array(confidences, dtype=np.float64), np.array(right, dtype=bool), np.array(unlabelled, dtype=np.float64)


def _answers_of_sets(session: Session, project: Project) -> Answers:
    """The same where a text may have several classes: an answer is right if the whole set is."""
    kept = project.probabilities.read()
    nothing = np.empty(0)
    if kept is None:
        return nothing, nothing.astype(bool), nothing
    numbers = kept.about["classes"]
    stored = dict(session.execute(select(Class.number, Class.threshold)).all())
    thresholds = [stored.get(number) for number in numbers]
    if any(one is None for one in thresholds):
        return nothing, nothing.astype(bool), nothing
    known = np.array([one for one in thresholds if one is not None])
    scored = np.flatnonzero(kept.stamps)
    labels = select(Consensus.text_row, LabelSet.classes, Text.split)
    labels = labels.join(LabelSet, LabelSet.number == Consensus.label_set).join(Text, Text.row == Consensus.text_row)
    decided = {row: (classes, split) for row, classes, split in session.execute(labels)}
    there = set(session.scalars(select(Text.row).where(Text.deleted.is_(None))))
    free = np.array([row for row in scored.tolist() if row in there and row not in decided], dtype=np.int64)
    whole = [
        row
        for row in scored.tolist()
        if row in there and row in decided and decided[row][1] == "validation" and decided[row][0].is_whole
    ]

    def confidence(rows: Ints) -> Floats:
        return answer_confidence(np.asarray(kept.values[rows], dtype=np.float64), thresholds=known.tolist())

    given = np.asarray(kept.values[whole], dtype=np.float64) >= known
    true = np.array([[number in decided[row][0].present for number in numbers] for row in whole], dtype=bool)
    right = (given == true.reshape(given.shape)).all(axis=1)
    return confidence(np.array(whole, dtype=np.int64)), right, np.sort(confidence(free))
