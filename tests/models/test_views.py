from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.errors import UserError
from hybridal.measures.calibration import softmax
from hybridal.models.training import forward_passes
from hybridal.models.transformer import TransformerModel
from hybridal.tasks import Task
from hybridal.updates import Plan

from .models import POOL, ROWS, RULES, model_of, unlabelled
from .parts import CPU, same_weights

# --- what signals see ----------------------------------------------------------------------------------------------


def test_signals_see_the_model_as_it_is(task: Task, model: TransformerModel) -> None:
    fit = model.fit(Plan(model.pretrained, POOL.order), POOL, 1)
    look = model.view(fit.validation, POOL)
    assert same_weights(look.weights(), fit.weights)
    assert torch.equal(look.matrices()["classifier"], fit.weights["classifier.weight"])
    assert look.validation is fit.validation
    assert np.array_equal(look.validation_labels, task.validation.labels)
    known = model.validation
    expected = forward_passes.gradient_norm(model.classifier, known.source, known.rows, known.labels)
    assert look.gradient_norm() == expected > 0
    outputs, labels = look.labelled()
    assert labels.tolist() == [1, 0, 1]
    direct = forward_passes.predict(model.classifier, model.train_source, np.array([7, 3, 50]), features=True)
    assert outputs.hidden is not None
    assert direct.hidden is not None
    assert np.array_equal(outputs.hidden, direct.hidden)


def test_the_component_that_needs_validation_reports_its_absence(task: Task, tiny: Backbone) -> None:
    model = model_of(unlabelled(task, "validation"), tiny)
    look = model.view(None, POOL)
    with pytest.raises(UserError, match="looks at validation texts, and the task has none with labels; use alpha"):
        _ = look.validation
    with pytest.raises(UserError, match="the task has none with labels"):
        look.gradient_norm()
    assert look.matrices()


# --- what acquisition sees -----------------------------------------------------------------------------------------


def test_candidates_are_scored_by_the_scaled_logits(task: Task, model: TransformerModel) -> None:
    candidates = model.candidates(ROWS, POOL, 1, temperature=2.5)
    assert candidates.ids == [task.train.ids[row] for row in ROWS]
    outputs = forward_passes.predict(model.classifier, model.train_source, ROWS, features=True)
    assert np.array_equal(candidates.probabilities(), softmax(outputs.logits, 2.5))
    assert outputs.embedding is not None
    assert np.array_equal(candidates.embeddings(), outputs.embedding)
    labelled = forward_passes.predict(model.classifier, model.train_source, POOL.order, features=True)
    assert labelled.embedding is not None
    assert np.array_equal(candidates.labelled_probabilities(), softmax(labelled.logits, 2.5))
    assert np.array_equal(candidates.labelled_embeddings(), labelled.embedding)


def test_views_are_lazy_and_cached(model: TransformerModel, passes: list[int]) -> None:
    candidates = model.candidates(ROWS, POOL, 1, 1.0)
    assert passes == []
    assert candidates.seconds == 0.0
    candidates.probabilities()
    candidates.probabilities()
    assert passes == [4]
    assert candidates.seconds > 0.0

    featured = model.candidates(ROWS, POOL, 1, 1.0)
    for _ in range(2):
        featured.embeddings()
        featured.probabilities()
        featured.labelled_embeddings()
        featured.labelled_probabilities()
    assert passes == [4, 4, 3]


def test_sampling_is_keyed_by_seed_and_round(task: Task, tiny: Backbone, model: TransformerModel) -> None:
    def sampled(model: TransformerModel, round: int, temperature: float = 1.0) -> Any:
        return model.candidates(ROWS, POOL, round, temperature).sampled_probabilities(3)

    first = sampled(model, 1)
    assert first.shape == (3, 4, 2)
    assert np.array_equal(first, sampled(model, 1))
    assert not np.array_equal(first, sampled(model, 2))
    other = TransformerModel(task, tiny, RULES, 2, CPU)
    other.load(model.pretrained)
    assert not np.array_equal(first, sampled(other, 1))
    scaled = np.log(sampled(model, 1, temperature=4.0))
    np.testing.assert_allclose(scaled[..., 0] - scaled[..., 1], np.log(first[..., 0] / first[..., 1]) / 4, atol=1e-6)
