from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Prediction, Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.touched_labels import nearer, touched_labels
from hybridal.app.vectors import StoredVectors

from ..made_up import make, me


def test_labels_are_touched_by_class_by_the_model_and_by_similarity(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=9, db=db)
    given = {"t0": "a", "t1": "a", "t2": "a", "t3": "b", "t4": "b", "t5": "b", "t6": "c"}
    predicted = {"t0": (1, 0.9), "t1": (1, 0.6), "t2": (2, 0.7), "t3": (1, 0.5), "t4": (1, 0.8), "t5": (2, 0.9)}
    with project.sessions.begin() as session:
        rows = dict(session.execute(select(Text.id, Text.row)).all())
        owner = me(project)
        for id, name in given.items():
            annotate(session, owner, id, "label", class_name=name, key=id)
        for id, (number, probability) in {**predicted, "t8": (1, 0.9)}.items():
            new = {"text_row": rows[id], "class_number": number, "probability": probability}
            session.add(Prediction(**new, entropy=0.0, round=1))
        session.flush()
        values = np.zeros((max(rows.values()) + 1, 2), dtype=np.float16)
        angles = {"t0": 0.0, "t1": 0.1, "t2": 0.2, "t3": 1.5, "t4": 1.6, "t5": 0.3, "t6": 0.2}
        for id, angle in angles.items():
            values[rows[id]] = np.cos(angle), np.sin(angle)
        stamps = np.zeros(len(values), dtype=np.int64)
        stamps[[rows[id] for id in angles]] = 7
        found = touched_labels(session, 1, StoredVectors({}, stamps, values))
        names = {row: id for id, row in rows.items()}
        assert {reason: [names[row] for row in some] for reason, some in found.items()} == {
            "class": ["t2", "t1", "t0"],  # the most doubtful first
            "model": ["t4", "t3"],
            "similar": ["t5"],  # t6 is the only text of its class, and so its mean
        }
        assert touched_labels(session, 1, None)["similar"] == []
    project.close()


@pytest.mark.parametrize("seed", range(5))
def test_nearer_texts_are_those_of_a_brute_force_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, labels = rng.normal(size=(40, 3)), {row: int(rng.integers(1, 4)) for row in range(36)}
    stamps = np.where(rng.random(40) < 0.9, 1, 0)
    known = [row for row in labels if stamps[row]]
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    means = {label: np.mean([unit[row] for row in known if labels[row] == label], axis=0) for label in (1, 2, 3)}

    def gain(row: int) -> float:
        one, own = means[1], means[labels[row]]
        cosine = unit[row] @ one / np.linalg.norm(one) - unit[row] @ own / np.linalg.norm(own)
        return float(cosine)

    asked = [row for row in labels if labels[row] != 1 and row % 5]
    wanted = sorted((row for row in asked if row in known and gain(row) > 0), key=gain, reverse=True)
    assert nearer(StoredVectors({}, stamps, values), labels, 1, asked) == wanted != []


def test_without_texts_of_the_class_nothing_is_nearer() -> None:
    vectors = StoredVectors({}, np.ones(3, dtype=np.int64), np.eye(3))
    assert nearer(vectors, {0: 2, 1: 2, 2: 3}, 1, [0, 1, 2]) == []


def test_sets_are_touched_if_they_have_the_class_or_the_model_adds_it(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=5, db=db, multi_label=True)
    with project.sessions.begin() as session:
        rows = dict(session.execute(select(Text.id, Text.row)).all())
        owner = me(project)
        for id, names in {"t0": ["a", "b"], "t1": ["b"], "t2": []}.items():
            annotate(session, owner, id, "label", class_names=names, key=id)
        annotate(session, me(project), "t3", "label", decisions={"b": True}, key="t3")
        number = store_sets(session, [ClassSet.of([1, 2])])[ClassSet.of([1, 2])]
        for id in ("t1", "t3"):
            new = {"text_row": rows[id], "class_number": 2, "label_set": number, "probability": 0.9}
            session.add(Prediction(**new, entropy=0.0, round=1))
        session.flush()
        found = touched_labels(session, 1, None)
        assert found == {"class": [rows["t0"]], "model": [rows["t1"]], "similar": []}
    project.close()
