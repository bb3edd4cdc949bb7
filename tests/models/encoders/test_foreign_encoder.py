from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.encoders.foreign_encoder import ForeignClassifier, ForeignEncoder
from hybridal.models.training.forward_passes import predict
from hybridal.tasks import Task

from ..parts import classifier_of, examples_of, random_backbone, row_of


@pytest.fixture
def backbone(tiny: Backbone, tmp_path: Path) -> Backbone:
    return random_backbone("albert", tiny.folder, tmp_path / "albert")


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_foreign_encoder_is_padded_and_equals_transformers(backbone: Backbone, task: Task, pooling: str) -> None:
    classifier, texts = classifier_of(backbone, task, pooling=pooling), examples_of(backbone, task.train)
    assert not classifier.packs
    assert isinstance(
        classifier.module if pooling == "first" else classifier.module.body, (ForeignClassifier, ForeignEncoder)
    )
    found = predict(classifier, texts.source, texts.rows[:6], features=True)
    assert found.hidden is not None
    assert found.embedding is not None
    model = AutoModel.from_pretrained(backbone.folder).eval()
    for row in range(6):
        with torch.no_grad():
            states = model(row_of(texts.source, row)).last_hidden_state[0]
        expected = states[0] if pooling == "first" else states.mean(0)
        np.testing.assert_allclose(found.hidden[row], expected.numpy(), atol=1e-4)
    np.testing.assert_allclose(classifier.head().logits(found.embedding), found.logits, atol=1e-4)


def test_saved_foreign_encoder_equals_transformers(backbone: Backbone, task: Task, tmp_path: Path) -> None:
    classifier: Classifier = classifier_of(backbone, task)
    classifier.save(tmp_path / "saved")
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
    texts = examples_of(backbone, task.train)
    batch = classifier.padded(texts.source, texts.rows[:5])
    with torch.inference_mode():
        theirs = model(input_ids=batch.inputs, attention_mask=batch.mask).logits
        torch.testing.assert_close(classifier.run(batch).logits, theirs)
