"""The labels of people and of a language model as the trainer weights them, without a model.

For the page *Progress*: the errors that it shows are those by which the trainer's learner weights labels, since both
follow from the same answers, compared by the same functions.
"""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.app.db.class_set import ClassSet
from hybridal.app.labelling.stored_class_sets import Label
from hybridal.app.trainer.snapshot import Snapshot
from hybridal.core.label_sets import LabelSets
from hybridal.core.pool import Pool
from hybridal.measures.objective import Objective, objective_of


def label_pool(now: Snapshot) -> tuple[Pool, Objective]:
    """Return the texts of a snapshot that have a label as a pool, which knows the answers of a language model.

    `Pool.compared` of it has the answers that the learner compares (`Chapter.sync_labels`), whatever instructions they
    were given under, and `pool_weights` the weights with which it learns them.

    Args:
        now: The labels; the classes of the objective are in the order of its `classes`.
    """
    columns = {number: at for at, number in enumerate(now.classes)}
    sets = LabelSets(len(columns)) if now.multi_label else None
    rows = {id: row for row, id in enumerate(dict.fromkeys([*now.by_people, *now.model_answers]))}

    def numbered(labels: Mapping[str, Label]) -> dict[int, int]:
        return {rows[id]: _label_number(label, columns, sets) for id, label in labels.items()}

    pool = Pool.unlabelled(len(rows), sets).reveal(numbered(now.by_people))
    return pool.reveal_by_model(numbered(now.model_answers)), objective_of(len(columns), sets)


def _label_number(label: Label, columns: Mapping[int, int], sets: LabelSets | None) -> int:
    """The number of a label in a pool whose classes have these columns."""
    if not isinstance(label, ClassSet):
        return columns[label]
    assert sets is not None  # sets of classes occur only where a text may have several
    absent = None if label.absent is None else sorted(columns[number] for number in label.absent)
    return sets.number(sorted(columns[number] for number in label.present), absent)
