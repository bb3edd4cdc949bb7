"""Labels that the newest model contradicts in one of their classes, where a text may have several."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, Consensus, LabelSet, Text, Vote
from hybridal.app.insight.ranking import closeness
from hybridal.app.labelling.classes import active
from hybridal.app.labelling.learnt_predictions import are_from_names
from hybridal.app.labelling.stored_class_sets import class_names, named
from hybridal.app.project import Project

MAX_CLOSENESS = 0.5  # decisions closer to the threshold than halfway are not contradicted


def contradicted_decisions(
    session: Session, project: Project, limit: int, class_name: str = ""
) -> list[dict[str, Any]]:
    """The decisions on a class that the model contradicts, the most certain first, except those of a reviewer.

    Args:
        session: A session of the project.
        project: The project.
        limit: How many at most.
        class_name: Only decisions on this class.

    Returns:
        For each `id`, `text` and `classes` of the text, the `class`, whether it is `present` in the label, and its
        `probability` and `threshold`.
    """
    kept, known = project.probabilities.read(), active(session)
    if kept is None or are_from_names(session):
        return []
    numbers = kept.about["classes"]
    asked = [
        (numbers.index(one.number), one, one.threshold)
        for one in known
        if one.number in numbers and one.threshold is not None and class_name in ("", one.name)
    ]
    found = select(Consensus.text_row, LabelSet.classes).join(LabelSet, LabelSet.number == Consensus.label_set)
    labels = {row: label for row, label in session.execute(found) if row < len(kept.stamps) and kept.stamps[row]}
    if not labels or not asked:
        return []
    rows, reviewed = np.array([*labels]), _reviewed(session)
    candidates: list[tuple[float, int, int]] = []
    for at, (column, one, threshold) in enumerate(asked):
        probabilities = np.asarray(kept.values[rows, column])
        near, given = closeness(probabilities, threshold), probabilities >= threshold
        for place in np.flatnonzero(near < MAX_CLOSENESS).tolist():
            has = labels[rows[place]].decision(one.number)
            if has is not None and has != given[place]:
                candidates.append((float(near[place]), int(rows[place]), at))
    chosen: list[tuple[int, int]] = []
    for _, row, at in sorted(candidates):
        if len(chosen) < limit and not _is_reviewed(reviewed[row], asked[at][1].number):
            chosen.append((row, at))
    texts = {text.row: text for text in session.scalars(select(Text).where(Text.row.in_({row for row, _ in chosen})))}
    names = class_names(session)
    return [
        {
            "id": texts[row].id,
            "text": texts[row].body,
            "class": one.name,
            "classes": named(labels[row], names),
            "present": labels[row].decision(one.number),
            "probability": float(kept.values[row, column]),
            "threshold": threshold,
        }
        for row, at in chosen
        for column, one, threshold in [asked[at]]
    ]


def _reviewed(session: Session) -> defaultdict[int, list[ClassSet]]:
    """What reviewers have decided, by the row of the text; their votes have their own earlier answers, too."""
    found: defaultdict[int, list[ClassSet]] = defaultdict(list)
    given = select(Annotation.text_row, LabelSet.classes).join(LabelSet, LabelSet.number == Annotation.label_set)
    decided = select(Vote.text_row).where(Vote.decides)
    for row, classes in session.execute(given.where(Annotation.decides, Annotation.text_row.in_(decided))):
        found[row].append(classes)
    return found


def _is_reviewed(decisions: list[ClassSet], number: int) -> bool:
    return any(one.decision(number) is not None for one in decisions)
