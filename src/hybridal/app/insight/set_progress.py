"""The classes of a project in which a text may have several: labels, and decisions on validation texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Consensus, LabelSet, Text
from hybridal.app.insight.ranking import probabilities_of
from hybridal.app.labelling.classes import active
from hybridal.app.project import Project


def set_balance(session: Session) -> list[dict[str, Any]]:
    """The number of labels of each active class, in the order of the classes.

    Returns:
        For each class `n`, how many labelled texts have it; and `absent`, for how many it was decided that they do not.
    """
    counted = select(LabelSet.classes, func.count()).join(Consensus, Consensus.label_set == LabelSet.number)
    numbers = {one.number: one for one in active(session)}
    counts: dict[str, Counter[int]] = {name: Counter() for name in ("n", "absent")}
    for found, times in session.execute(counted.group_by(LabelSet.number, LabelSet.classes)):
        for number in numbers:
            if (has := found.decision(number)) is not None:
                counts["n" if has else "absent"][number] += times
    return [{"class": one.name, **{name: counts[name][number] for name in counts}} for number, one in numbers.items()]


def validation_decisions(session: Session, project: Project) -> list[tuple[float, bool]]:
    """The newest model's probability of each decided class of the validation texts, and whether the text has it."""
    labels = select(Consensus.text_row, LabelSet.classes).join(LabelSet, LabelSet.number == Consensus.label_set)
    labels = labels.join(Text, Text.row == Consensus.text_row).where(Text.split == "validation")
    decided = dict(session.execute(labels).all())
    return [
        (probability, has)
        for row, by_class in probabilities_of(project, [*decided]).items()
        for number, probability in by_class.items()
        if (has := decided[row].decision(number)) is not None
    ]
