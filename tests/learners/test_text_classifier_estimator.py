"""`TextClassifier` as a scikit-learn estimator: its checks that need no numeric table, and tests on texts."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks as checks

from hybridal import ActiveLearner, TextClassifier, UserError
from hybridal.testing.small import toy_task

ROWS = toy_task(train=80, validation=0, test=0).train
TEXTS, LABELS = np.array(ROWS.texts), np.where(ROWS.labels == 1, "food", "sport")
QUICK = {"max_epochs": 2, "min_steps": 0, "min_finetune_steps": 0, "max_length": 16}


def quick(**arguments: Any) -> TextClassifier:
    return TextClassifier("tiny", overrides=QUICK, device="cpu", **arguments)


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    return quick().fit(TEXTS, LABELS)


def test_scikit_learn_s_checks() -> None:
    with pytest.warns(SkipTestWarning, match="Can't test estimator TextClassifier"):
        checks.check_estimator(TextClassifier())


@pytest.mark.parametrize(
    "check",
    [
        checks.check_estimator_cloneable,
        checks.check_estimator_repr,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_mixin_order,
        checks.check_no_attributes_set_in_init,
        checks.check_do_not_raise_errors_in_init_or_set_params,
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
    ],
)
def test_scikit_learn_checks_without_numbers(check: Any) -> None:
    check("TextClassifier", TextClassifier())


def test_tags_declare_text_input(fitted: TextClassifier) -> None:
    tags = fitted.__sklearn_tags__()
    assert is_classifier(fitted)
    assert (tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array) == (True, True, False)


def test_fit_returns_self_and_sets_classes(fitted: TextClassifier) -> None:
    model = quick()
    before = model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(TEXTS)
    assert model.fit(TEXTS, LABELS) is model
    assert model.get_params() == before
    assert model.classes_.tolist() == ["food", "sport"]
    np.testing.assert_array_equal(model.predict_proba(TEXTS), fitted.predict_proba(TEXTS))  # the same seed
    assert model.score(TEXTS, LABELS) == accuracy_score(LABELS, model.predict(TEXTS)) > 0.8
    assert not clone(model).__sklearn_is_fitted__()


def test_second_fit_starts_from_scratch() -> None:
    model = quick().fit(TEXTS[:40], ["a", "b"] * 20)
    again = model.fit(pd.Series(TEXTS), pd.Series(LABELS == "food")).predict(list(TEXTS))
    assert model.classes == (False, True)
    assert again.dtype == bool
    assert np.mean(again == (LABELS == "food")) > 0.8


def test_classifier_works_in_pipeline_and_grid_search() -> None:
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    scores = cross_val_score(make_pipeline(lower, quick()), TEXTS, LABELS, cv=2, error_score="raise")
    assert scores.shape == (2,)
    search = GridSearchCV(
        quick(), {"overrides": [QUICK, {**QUICK, "max_epochs": 1}]}, cv=2, scoring="f1_macro", error_score="raise"
    ).fit(list(TEXTS), LABELS)
    assert search.best_params_["overrides"] in (QUICK, {**QUICK, "max_epochs": 1})
    assert search.predict(TEXTS[:3]).shape == (3,)


def test_fitted_classifier_is_saved_and_loaded(fitted: TextClassifier, tmp_path: Path) -> None:
    again = TextClassifier.load(fitted.save(tmp_path / "model"), "cpu")
    np.testing.assert_allclose(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS), atol=1e-5)


def test_pickled_or_copied_it_answers_and_is_saved_as_before(fitted: TextClassifier, tmp_path: Path) -> None:
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_allclose(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS), atol=1e-5)
        assert again.get_params() == fitted.get_params()
    loaded = TextClassifier.load(pickle.loads(pickle.dumps(again)).save(tmp_path / "model"), "cpu")
    assert loaded.predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()
    assert pickle.loads(pickle.dumps(quick())).get_params() == quick().get_params()


def test_a_learner_s_model_can_be_cloned_to_learn_again() -> None:
    task = toy_task(train=40, validation=0, test=0)
    learner = ActiveLearner(task, backbone="tiny", protocol="quick", seed=7, device="cpu", max_epochs=1)
    learner.teach(task.answers(task.train.ids[:12]))
    assert clone(learner.model).get_params() == {
        "backbone": "tiny", "protocol": "quick", "overrides": {"max_epochs": 1}, "seed": 7, "device": "cpu"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "labels", "sentence"),
    [
        (TEXTS.reshape(40, 2), LABELS[:40], "X must be a list, a column or a one-dimensional array"),
        ("one text", ["a"], "X must be a list"),
        (TEXTS, None, "y must be a list"),
        ([], [], "there are no texts; give some"),
        (TEXTS, LABELS[:-1], "the number of labels is 79, that of texts 80"),
        (TEXTS[:4], ["a", "b", None, "a"], "y: text 2 has no label; leave it out"),
        (TEXTS[:4], ["a"] * 4, "one class, 'a', leaves nothing to learn"),
        ([*TEXTS[:3], 7.0], LABELS[:4], r"text 3 \(id 3\) is 7.0, not a text"),
    ],
)
def test_unusable_fit_input_is_refused(texts: Any, labels: Any, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        quick().fit(texts, labels)


@pytest.mark.parametrize(
    ("X", "y", "others", "told"),
    [
        (["a", "b"], [0, 1], {"sample_weight": [1.0, 2.0]}, "no `sample_weight`: all texts count alike"),
        ([("a", "b"), ("c", "d")], [0, 1], {}, "^texts: number 0 is .*; pairs of texts are not supported"),
        (["a", "b"], [["x", "y"], "x"], {}, "y: number 1 is 'x', and others are sets of classes"),
        (["a", "b"], np.ones((2, 1)), {}, "y has 1 column; give one label per text"),
    ],
)
def test_unusable_labels_are_refused_by_name(X: Any, y: Any, others: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        TextClassifier("tiny", protocol="quick", device="cpu").fit(X, y, **others)
