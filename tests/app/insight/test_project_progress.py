from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from hybridal.app.db.schema import Person, Prediction, Text
from hybridal.app.insight.project_progress import calibration_bins, progress, saving
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.core.rounds import LabelChanges, Metrics, Round
from hybridal.core.rules import protocol
from hybridal.measures.calibration import reliability
from hybridal.measures.certainty import wilson
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.system.files import strict_json
from hybridal.testing.small import toy_task

from .rounds import round_of

TASK = toy_task(train=40, validation=2, test=0)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    rows = [(id, text, None) for id, text in zip(TASK.train.ids, TASK.train.texts, strict=True)]
    project = Project.create(Source("toys", rows, TASK.classes), tmp_path / "toys.hybridal")
    yield project
    project.close()


def tell(project: Project, number: int, schedule: str, *history: Round) -> None:
    folder = RunFolder.create(project.runs / f"{number:03d}", Settings("toys", schedule=schedule), TASK, {})
    for record in history:
        folder.append(record)


def moving(t: int, change: float | None, update: str = "retrain", right: int = 15) -> Round:
    return round_of(t, update, changes={"accuracy": change}, right=right)


def test_a_fresh_project_has_no_rounds_and_all_its_classes(project: Project) -> None:
    found = progress(project)
    assert (found["rounds"], found["switch"], found["signal"]) == ([], None, None)
    assert found["balance"] == [{"class": "sport", "n": 0}, {"class": "food", "n": 0}]
    assert found["saved"]["sentence"] == ""


def test_progress_has_interval_and_signal_of_a_round(project: Project) -> None:
    tell(project, 1, "hybrid:accuracy", moving(1, None), moving(2, 0.004, right=18))
    first, second = progress(project)["rounds"]
    assert (first["signal"], first["stable"], first["epsilon"]) == (None, False, 0.005)
    assert (second["signal"], second["stable"]) == (0.004, True)
    assert (second["round"], second["update"], second["labels"], second["accuracy"]) == (2, "retrain", 20, 0.9)
    assert (second["low"], second["high"]) == wilson(18, 20)
    assert (second["f1"], second["nll"], second["ece"]) == (
        0.5,
        0.7,
        None,
    )
    assert second["seconds"] == pytest.approx(0.1 * 100 + 1)


def test_unknown_macro_f1_is_null(project: Project) -> None:
    few = Metrics(24, 18, 0.75, 0.73, 0.8, 0.2, 0.4, 0.7, 0.1, support=(1,) * 24 + (0,) * 40)
    tell(project, 1, "auto", replace(moving(1, None), validation=few))
    (told,) = progress(project)["rounds"]
    assert (told["accuracy"], told["f1"], told["f1_low"], told["ece"]) == (0.75, None, None, None)


def test_a_model_that_guesses_is_called_so_and_has_saved_nothing(project: Project) -> None:
    tuned = round_of(2, "finetune", right=10, epochs=1)
    tell(project, 1, "auto", moving(1, None), replace(tuned, changes={"accuracy": None}))
    found = progress(project)
    assert found["advice"].startswith("The model is no better than guessing: it is right on 10 of 20 validation texts")
    assert "more labels should" not in found["advice"]
    assert found["saved"]["seconds"] == 0
    assert found["saved"]["sentence"] == ""


def test_a_model_is_finished_until_more_labels_come(project: Project) -> None:
    assert progress(project)["finish"] == {"finished": None, "advised": False, "sentence": "There is no model yet."}
    tell(project, 1, "auto", moving(1, None))
    assert (progress(project)["finish"]["finished"], "not finished" in progress(project)["finish"]["sentence"]) == (
        False,
        True,
    )
    last = round_of(2, "finetune", label_changes=LabelChanges(known=10, added=10, last=True))
    RunFolder(project.runs / "001").append(last)
    found = progress(project)["finish"]
    assert found["finished"]
    assert found["sentence"] == "The model is finished: it was trained once more on all 20 labels."
    with project.sessions.begin() as session:
        me = session.scalars(select(Person)).first()
        assert me is not None
        text = session.scalars(select(Text.id).where(Text.split == "pool")).first()
        annotate(session, me, str(text), "label", class_name="food", key="later")
    found = progress(project)["finish"]
    assert not found["finished"]
    assert "1 label came later" in found["sentence"]


def test_no_advice_to_continue_when_every_text_is_labelled(project: Project) -> None:
    tell(project, 1, "auto", moving(1, None))
    with project.sessions.begin() as session:
        me = session.scalars(select(Person)).one()
        *ids, last = session.scalars(select(Text.id)).all()
        for id in ids:
            annotate(session, me, id, "label", class_name="food", key=id)
    assert progress(project)["advice"].endswith("Keep labelling.")
    with project.sessions.begin() as session:
        annotate(session, me, last, "label", class_name="food", key=last)
    found = progress(project)
    assert (found["advice"], found["finish"]["advised"]) == ("All texts are labelled.", True)


def test_chapters_are_counted_through_and_the_newest_one_switches(project: Project) -> None:
    tell(project, 1, "hybrid:accuracy", moving(1, None), moving(2, 0.0), moving(3, 0.0))
    assert progress(project)["switch"] == 3
    tell(project, 2, "hybrid:accuracy:0.02:1", moving(1, None))
    assert progress(project)["switch"] is None
    tell(project, 3, "hybrid:accuracy:0.02:1", moving(1, None), moving(2, 0.01), moving(3, 0.0, "finetune"))
    found = progress(project)
    assert [row["round"] for row in found["rounds"]] == list(range(1, 8))
    assert (found["switch"], found["signal"]) == (6, {"name": "accuracy", "epsilon": 0.02})
    assert found["saved"]["sentence"].startswith("1 of 7 updates")


def test_progress_works_without_signal_and_validation(project: Project) -> None:
    tell(project, 1, "retrain", round_of(1, validation=None, temperature=None))
    found = progress(project)
    assert (found["signal"], found["switch"]) == (None, None)
    assert (found["rounds"][0]["accuracy"], found["rounds"][0]["low"], found["rounds"][0]["epsilon"]) == (None,) * 3


def test_calibration_is_of_labelled_validation_texts_and_balance_of_all_labels(project: Project) -> None:
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        sport, food = (classes.find(session, name).number for name in ("sport", "food"))
        for split, n in (("validation", 4), ("pool", 3)):
            rows = session.scalars(select(Text).where(Text.split == split).limit(n)).all()
            for number, text in enumerate(rows):
                annotate(session, me, text.id, "label", class_name="food", key=f"key-{text.row}")
                prediction = food if number else sport
                session.add(
                    Prediction(text_row=text.row, class_number=prediction, probability=0.65, entropy=0.6, round=1)
                )
    found = progress(project)
    (filled,) = [bin for bin in found["calibration"] if bin["n"]]
    assert (filled["n"], filled["confidence"], filled["accuracy"]) == (4, pytest.approx(0.65), 0.75)
    assert found["balance"] == [{"class": "sport", "n": 0}, {"class": "food", "n": 7}]


def test_progress_is_strict_json_and_needs_no_torch(project: Project) -> None:
    tell(project, 1, "hybrid:accuracy", moving(1, None), moving(2, 0.0, "finetune"))
    code = f"""
import json, sys
from hybridal.app.insight import project_progress
from hybridal.app.project import Project
from hybridal.app.trainer import supervisor
print(json.dumps(project_progress.progress(Project.open({str(project.folder)!r}))))
print([name for name in ("torch", "transformers", "sklearn") if name in sys.modules])
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    told, loaded = output.splitlines()
    assert json.loads(told) == json.loads(strict_json(progress(project)))
    assert loaded == "[]"


PAPER = protocol("paper")


def test_before_the_first_update_there_is_nothing_to_say() -> None:
    assert saving([], PAPER) == {"seconds": 0.0, "share": 0.0, "sentence": ""}


def test_retraining_always_saves_nothing() -> None:
    found = saving([round_of(1), round_of(2)], PAPER)
    assert (found["seconds"], found["share"]) == (0.0, 0.0)
    assert found["sentence"] == (
        "No update so far continued training from the previous weights, so nothing has been saved yet."
    )


def test_a_fine_tune_saves_the_passes_that_a_retrain_would_have_needed() -> None:
    history = [round_of(1), round_of(2), round_of(3, "finetune", epochs=2), round_of(4, "finetune", epochs=2)]
    found = saving(history, PAPER)
    # Five passes over 30 and 40 labels would have been 350 examples, of which 140 were needed; 0.1 s each.
    assert found["seconds"] == pytest.approx(0.1 * (350 - 140))
    # Steps of 10 examples: 15 in the retrains, 14 in place of 35 in the others.
    assert found["share"] == pytest.approx((35 - 14) / (15 + 35))
    assert found["sentence"] == (
        "2 of 4 updates continued from the previous weights. "
        "That took 14 steps where retraining would have taken about 35 steps. It saved about 21.0 s."
    )


def test_longer_time_is_not_reported_as_saved() -> None:
    found = saving([round_of(1), round_of(2, "finetune", epochs=9)], PAPER)
    assert found["seconds"] < 0
    assert found["share"] < 0
    assert found["sentence"].endswith("So nothing was saved.")


def test_without_a_retrain_there_is_nothing_to_compare_with() -> None:
    assert "no retraining to compare" in saving([round_of(1, "finetune")], PAPER)["sentence"]


def test_without_early_stopping_the_rules_determine_the_steps_of_a_retraining() -> None:
    rules = protocol("best", {"max_epochs": 10, "min_steps": 40, "train_batch": 10})
    found = saving([round_of(1), round_of(2, "replay:equal:balanced", epochs=2), round_of(9, "refit", epochs=0)], rules)
    # Twenty labels: twenty epochs of two steps. A refit has no steps, and is no training.
    assert "4 steps where retraining would have taken about 40 steps" in found["sentence"]


def test_names_of_classes_are_part_of_what_a_retrain_would_have_taken() -> None:
    rules = protocol("best", {"max_epochs": 10, "min_steps": 0, "train_batch": 10})
    retrained, tuned = round_of(1), round_of(2, "finetune:3", epochs=3)
    examples = (retrained.labels + 5) * retrained.cost.epochs
    named = replace(retrained, cost=replace(retrained.cost, examples=examples))
    steps = 10 * -(-(tuned.labels + 5) // 10)
    assert f"would have taken about {steps} steps" in saving([named, tuned], rules)["sentence"]


predictions = st.lists(st.tuples(st.floats(0.5, 1.0), st.booleans()), min_size=1, max_size=50)


@given(predictions)
def test_the_bins_are_those_of_a_reliability_diagram(pairs: list[tuple[float, bool]]) -> None:
    sure = np.array([probability for probability, _ in pairs])
    wrong = np.array([int(not right) for _, right in pairs])
    # Of two classes, the first is the likelier one; it is right where the label is 0.
    expected = reliability(np.stack([sure, 1 - sure], axis=1), wrong, bins=10)
    found = calibration_bins(pairs)
    assert [bin["n"] for bin in found] == expected.count.tolist()
    assert [bin["confidence"] for bin in found] == pytest.approx(expected.confidence.tolist())
    assert [bin["accuracy"] for bin in found] == pytest.approx(expected.accuracy.tolist())
    assert [bin["low"] for bin in found] == pytest.approx(expected.edges[:-1].tolist())
    assert [bin["high"] for bin in found] == pytest.approx(expected.edges[1:].tolist())


def test_nothing_gives_empty_bins() -> None:
    assert {bin["n"] for bin in calibration_bins([])} == {0}
