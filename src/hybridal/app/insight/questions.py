"""Which classes of a text to ask about by yes/no questions, where a text may have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import LabelSet, Person, Text, Vote
from hybridal.app.insight.ranking import closeness, probabilities_of
from hybridal.app.labelling.classes import active
from hybridal.app.labelling.consensus import settled_by_text
from hybridal.app.project import Project

MAX_QUESTIONS = 3  # about one text in a row: it is read only once
MIN_CLOSENESS = 0.2  # of questions after the first


def questions_about(
    session: Session, project: Project, person: Person, texts: Sequence[Text], wanted: int | None = None
) -> dict[int, list[str]]:
    """The names of the classes to ask a person about, the most valuable first, by the row of the text.

    These are the classes whose probability is closest to their threshold, among those that neither the person nor, if
    one answer is enough, the others have decided. A text is missing, and all its classes are asked for at once, if no
    model has scored it, and if it is for validation: questions that a model has chosen would bias its figures.

    Args:
        session: A session of the project.
        project: The project.
        person: The person.
        texts: The texts.
        wanted: The number of the only class to ask about.
    """
    pool = {text.row: text for text in texts if text.split == "pool"}
    votes = select(Vote.text_row, LabelSet.classes).join(LabelSet, LabelSet.number == Vote.label_set)
    mine = dict(session.execute(votes.where(Vote.text_row.in_(pool), Vote.person_number == person.number)).all())
    settled = settled_by_text(session, [row for row, text in pool.items() if text.required_votes == 1])
    thresholds = {one.number: one.threshold for one in active(session) if one.threshold is not None}
    names = {one.number: one.name for one in active(session)}
    found: dict[int, list[str]] = {}
    for row, probabilities in probabilities_of(project, [*pool]).items():
        known = [mine.get(row), settled[row].label if row in settled else None]
        sets = [one for one in known if isinstance(one, ClassSet)]
        asked = thresholds.keys() if wanted is None else thresholds.keys() & {wanted}
        open_classes = {
            number: probabilities[number]
            for number in asked & probabilities.keys()
            if not any(number in one.unknown or one.decision(number) is not None for one in sets)
        }
        if numbers := most_valuable(open_classes, thresholds):
            found[row] = [names[number] for number in numbers]
    return found


def most_valuable(probabilities: Mapping[int, float], thresholds: Mapping[int, float]) -> list[int]:
    """The classes whose probability is closest to their threshold, the closest first.

    >>> most_valuable({1: 0.8, 2: 0.01, 3: 0.45, 4: 0.3}, {1: 0.5, 2: 0.5, 3: 0.5, 4: 0.2})
    [3, 4, 1]
    """
    numbers = [*probabilities]
    near = closeness(np.array([*probabilities.values()]), np.array([thresholds[number] for number in numbers]))
    order = sorted(range(len(numbers)), key=lambda at: (-near[at], numbers[at]))[:MAX_QUESTIONS]
    return [numbers[at] for place, at in enumerate(order) if place == 0 or near[at] >= MIN_CLOSENESS]
