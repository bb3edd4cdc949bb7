"""`TextClassifier` and `ActiveLearner.predict` with several labels per text, and their exported folders."""

from __future__ import annotations

import copy
import importlib
import json
import math
import pickle
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score

from hybridal import ActiveLearner, TextClassifier
from hybridal.errors import UserError
from hybridal.learners.label_matrix import as_matrix
from hybridal.models.export.onnx_export import NEEDED
from hybridal.tasks import Split
from hybridal.testing.small import multi_label_task, toy_task

TASK = multi_label_task()
TEXTS = TASK.test.texts[:20]
RULES: dict[str, Any] = {"batch": 20, "max_length": 32, "max_epochs": 2, "learning_rate": 2e-3}
QUICK = {"max_epochs": 2, "min_steps": 0, "min_finetune_steps": 0, "max_length": 16}


def sets_of(split: Split) -> list[Any]:
    return [TASK.label(label) for label in split.labels]


@pytest.fixture(scope="module", params=["first", "mean"])
def learner(request: pytest.FixtureRequest) -> ActiveLearner:
    learner = ActiveLearner(
        TASK, backbone="tiny", protocol="paper", schedule="retrain", device="cpu", pooling=request.param, **RULES
    )
    learner.teach(TASK.answers(TASK.train.ids[:60]))
    # Far from 1 and from 0.5, so that leaving them out is seen; half of the texts get each class.
    learner._learnt[-1] = replace(learner._learnt[-1], temperature=3.0)
    medians = tuple(np.median(learner.predict_proba(TEXTS), axis=0).round(6).tolist())
    learner._learnt[-1] = replace(learner._learnt[-1], thresholds=medians)
    learner._state = replace(learner._state, thresholds=medians)
    return learner


@pytest.fixture
def thresholds(learner: ActiveLearner) -> tuple[float, ...]:
    return learner.history[-1].thresholds


@pytest.fixture(scope="module")
def folder(learner: ActiveLearner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learner.model.save(tmp_path_factory.mktemp("saved") / "model")


def test_the_learner_predicts_sets_by_its_thresholds(learner: ActiveLearner, thresholds: tuple[float, ...]) -> None:
    probabilities, found = learner.predict_proba(TEXTS), learner.predict(TEXTS)
    assert probabilities.shape == (20, 3)
    assert not np.allclose(probabilities.sum(axis=1), 1.0)
    given = probabilities >= np.array(thresholds)
    decided = [{name for name, at in zip(TASK.classes, row, strict=True) if at} for row in given]
    assert found.tolist() == decided == learner.model.predict(TEXTS).tolist()
    assert all(isinstance(labels, frozenset) for labels in found)
    assert len({len(labels) for labels in found}) > 1


def test_a_query_shows_what_the_model_would_give(learner: ActiveLearner, thresholds: tuple[float, ...]) -> None:
    twin = copy.deepcopy(learner)
    for query in twin.query(8):
        assert query.probabilities is not None
        at = dict(zip(TASK.classes, thresholds, strict=True))
        assert query.labels == frozenset(name for name, p in query.probabilities.items() if p >= at[name])
    assert "p(sport)" in twin.query(8)._repr_html_()
    assert ActiveLearner(TASK, backbone="tiny", protocol="best", device="cpu").query(2)[0].labels is None


def test_classes_have_the_type_of_the_labels() -> None:
    task = replace(TASK, classes=("1", "2", "3"), label_type=int)
    learner = ActiveLearner(task, backbone="tiny", protocol="best", device="cpu")
    learner.teach(task.answers(task.train.ids[:30]))
    assert {label for labels in learner.predict(TEXTS) for label in labels} <= {1, 2, 3}
    assert learner.model.classes == (1, 2, 3)


def test_plain_transformers_gives_the_same_probabilities(
    learner: ActiveLearner, folder: Path, thresholds: tuple[float, ...]
) -> None:
    from transformers import pipeline

    classify = pipeline("text-classification", model=str(folder), device="cpu", top_k=None)
    answers = [{one["label"]: one["score"] for one in each} for each in classify(TEXTS, truncation=True, batch_size=4)]
    theirs = [[each[name] for name in TASK.classes] for each in answers]
    np.testing.assert_allclose(theirs, learner.predict_proba(TEXTS), atol=1e-4)
    assert classify.model.config.problem_type == "multi_label_classification"
    assert classify.model.config.thresholds == [*thresholds]


def test_a_loaded_folder_predicts_as_the_learner(learner: ActiveLearner, folder: Path, tmp_path: Path) -> None:
    for loaded in (TextClassifier.load(folder, "cpu"), copy.deepcopy(learner.model)):
        np.testing.assert_allclose(loaded.predict_proba(TEXTS), learner.predict_proba(TEXTS), atol=1e-6)
        assert loaded.predict(TEXTS).tolist() == learner.predict(TEXTS).tolist()
        assert loaded.thresholds == learner.history[-1].thresholds
        again = TextClassifier.load(loaded.save(tmp_path / "again"), "cpu")
        assert again.predict(TEXTS).tolist() == learner.predict(TEXTS).tolist()
        for name in ("README.md", "hybridal.json"):
            assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_the_folder_says_what_the_thresholds_are(folder: Path, thresholds: tuple[float, ...]) -> None:
    about = json.loads((folder / "hybridal.json").read_text())
    assert (about["thresholds"], about["thresholds_for"]) == ([*thresholds], "macro_f1")
    card = (folder / "README.md").read_text()
    rows = "".join(f"| {name} | {at:.4f} |\n" for name, at in zip(TASK.classes, thresholds, strict=True))
    assert f"| class | threshold |\n|---|---|\n{rows}" in card
    assert "chosen for the best expected macro-F1; `config.json` has them" in card
    assert "| split | texts | macro-F1 | micro-F1 | LRAP | exact match | Hamming loss | NLL |" in card


@pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason="needs `hybridal[onnx]`")
@pytest.mark.parametrize("learner", ["mean"], indirect=True)
def test_onnx_gives_the_same_probabilities(learner: ActiveLearner, tmp_path: Path) -> None:
    path, encoder = learner.model.save_onnx(tmp_path), learner.transformer.encoder
    session = importlib.import_module("onnxruntime").InferenceSession(path)
    for text, expected in zip(TEXTS[:4], learner.predict_proba(TEXTS[:4]), strict=True):
        ids = np.array(encoder.encode([text]))
        (found,) = session.run(["probabilities"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        np.testing.assert_allclose(found[0], expected, atol=1e-4)
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["thresholds"]) == [*learner.history[-1].thresholds]


@pytest.mark.parametrize(
    "wrong",
    [[0.3, 0.5], [0.3, 0.5, math.nan], [0.3, 0.5, "0.6"], [0.3, 0.5, 1.5], [0.3, 0.5, -0.1], [0.3, 0.5, True],
     [0.3, 0.5, None], [[0.3], [0.5], [0.6]], "abc", None, 0.5, {"a": 1}, [], [0.3, 0.5, math.inf]],
)  # fmt: skip
def test_damaged_thresholds_are_refused_in_one_sentence(wrong: Any, folder: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    about = json.loads((damaged / "hybridal.json").read_text())
    (damaged / "hybridal.json").write_text(json.dumps({**about, "thresholds": wrong}))
    with pytest.raises(UserError, match=r"hybridal\.json is damaged: `thresholds` must be a[^;]*; copy the folder or"):
        TextClassifier.load(damaged, "cpu")


@pytest.mark.parametrize("change", ["hybridal.json", "config.json"])
def test_files_that_disagree_about_several_labels_are_refused(change: str, folder: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    about = json.loads((damaged / change).read_text())
    about.pop("thresholds")
    about.pop("problem_type", None)
    (damaged / change).write_text(json.dumps(about))
    with pytest.raises(UserError, match=r"damaged: .*\.json is of a model for several labels per text, and .* is not"):
        TextClassifier.load(damaged, "cpu")


def test_other_thresholds_than_transformers_sees_are_refused(folder: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    about = json.loads((damaged / "hybridal.json").read_text())
    (damaged / "hybridal.json").write_text(json.dumps({**about, "thresholds": [0.5, 0.5, 0.5]}))
    with pytest.raises(
        UserError, match=r"hybridal\.json is damaged: its thresholds are not those of config\.json; copy"
    ):
        TextClassifier.load(damaged, "cpu")


def test_as_the_backbone_of_a_task_with_one_label_it_leaves_no_thresholds(folder: Path, tmp_path: Path) -> None:
    task = toy_task(train=20, validation=10, test=0, classes=3)
    rules = {**RULES, "pooling": json.loads((folder / "hybridal.json").read_text())["pooling"]}
    learner = ActiveLearner(task, str(folder), protocol="paper", schedule="retrain", device="cpu", **rules)
    learner.teach(task.answers(task.train.ids[:8]))
    config = json.loads((learner.model.save(tmp_path / "model") / "config.json").read_text())
    assert (config["problem_type"], "thresholds" in config) == ("single_label_classification", False)


@pytest.fixture(scope="module")
def indicator() -> Any:
    return as_matrix(sets_of(TASK.train), TASK.classes).astype(int)


def quick() -> TextClassifier:
    return TextClassifier("tiny", overrides=QUICK, device="cpu")


def test_fitted_with_a_matrix_it_predicts_a_matrix(indicator: Any) -> None:
    model = quick().fit(TASK.train.texts, indicator)
    found = model.predict(TEXTS)
    assert (found.dtype.kind, found.shape, set(np.unique(found))) == ("i", (20, 3), {0, 1})
    assert model.classes_.tolist() == [0, 1, 2]
    assert (found == (model.predict_proba(TEXTS) >= model.thresholds)).all()
    truth = as_matrix(sets_of(TASK.test), TASK.classes)
    assert model.score(TASK.test.texts, truth) == accuracy_score(truth, model.predict(TASK.test.texts)) > 0.2
    assert (pickle.loads(pickle.dumps(model)).predict(TEXTS) == found).all()
    assert not clone(model).__sklearn_is_fitted__()
    assert model.__sklearn_tags__().classifier_tags.multi_label


def test_fitted_with_sets_it_predicts_sets(indicator: Any) -> None:
    model = quick().fit(TASK.train.texts, sets_of(TASK.train))
    assert model.classes_.tolist() == ["food", "space", "sport"]
    truth, found = sets_of(TASK.test), model.predict(TASK.test.texts).tolist()
    right = [one == other for one, other in zip(truth, found, strict=True)]
    assert model.score(TASK.test.texts, truth) == np.mean(right) > 0.2
    assert model.score(TASK.test.texts[:2], truth[:2], sample_weight=[1, 0]) == right[0]
    # A second fit forgets the form of the first.
    assert model.fit(TASK.train.texts, indicator).predict(TEXTS).shape == (20, 3)
    assert model.fit(TASK.train.texts, ["a", "b"] * 60).predict(TEXTS).shape == (20,)


@pytest.mark.parametrize("form", ["matrix", "sets"])
def test_cross_validation(form: str, indicator: Any) -> None:
    labels = indicator if form == "matrix" else np.array([frozenset(own) for own in sets_of(TASK.train)], dtype=object)
    scores = cross_val_score(quick(), np.array(TASK.train.texts), labels, cv=2, error_score="raise")
    assert scores.shape == (2,)
    assert (scores > 0.1).all()


def test_texts_of_no_class_are_learnt_from() -> None:
    labels = [{"a"}, {"b"}, set[str](), {"a", "b"}] * 10
    model = quick().fit([f"text {row % 4}" for row in range(40)], labels)
    assert model.classes == ("a", "b")
    with pytest.raises(UserError, match="one class, 'a', leaves nothing to learn"):
        quick().fit(["x", "y"] * 10, [{"a"}, set()] * 10)
