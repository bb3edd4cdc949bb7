"""The classes of a project in which a text may have several: labels, thresholds, errors on validation texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.schema import Consensus, LabelSet, Prediction, Text
from hybridal.app.insight.ranking import probabilities_of
from hybridal.app.labelling.classes import active
from hybridal.app.labelling.learnt_predictions import FROM_LABELS
from hybridal.app.project import Project


def set_balance(session: Session) -> list[dict[str, Any]]:
    """The number of labels and the validation results of each active class, in the order of the classes.

    Returns:
        For each class `n`, how many labelled texts have it; `absent`, for how many it was decided that they do not;
        its `threshold`; and of the validation texts that decide it how many have it (`texts`), how many the newest
        model gives it (`given`), and both (`hits`).
    """
    counted = select(LabelSet.classes, func.count()).join(Consensus, Consensus.label_set == LabelSet.number)
    numbers = {one.number: one for one in active(session)}
    counts: dict[str, Counter[int]] = {name: Counter() for name in ("n", "absent", "texts", "given", "hits")}
    for found, times in session.execute(counted.group_by(LabelSet.number, LabelSet.classes)):
        for number in numbers:
            if (has := found.decision(number)) is not None:
                counts["n" if has else "absent"][number] += times
    for label, given in _validation_sets(session):
        for number in numbers:
            if (has := label.decision(number)) is not None:
                is_given = number in given.present
                counts["texts"][number] += has
                counts["given"][number] += is_given
                counts["hits"][number] += has and is_given
    return [
        {"class": one.name, "threshold": one.threshold, **{name: counts[name][number] for name in counts}}
        for number, one in numbers.items()
    ]


def _validation_sets(session: Session) -> list[Any]:
    """The label and the predicted set of each validation text that has both."""
    label, given = aliased(LabelSet), aliased(LabelSet)
    found = (
        select(label.classes, given.classes)
        .select_from(Consensus)
        .join(label, label.number == Consensus.label_set)
        .join(Prediction, Prediction.text_row == Consensus.text_row)
        .join(given, given.number == Prediction.label_set)
        .join(Text, Text.row == Consensus.text_row)
        .where(FROM_LABELS, Text.split == "validation")
    )
    return [*session.execute(found)]


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
