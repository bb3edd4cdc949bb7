"""A classifier that reads a text's first token: of BERT a module of our own, of all others transformers' own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.errors import UserError
from hybridal.models.encoders.bert import Bert
from hybridal.models.encoders.layers import Linear
from hybridal.models.encoders.own_encoders import encoder_of
from hybridal.models.encoders.quiet_transformers import quiet
from hybridal.models.encoders.saved_model import Saved, about_classifier

KIND = "BertForSequenceClassification"
POOLER = ("bert.pooler.dense.weight", "bert.pooler.dense.bias")
HEAD = ("classifier.weight", "classifier.bias")


class FirstTokenClassifier(nn.Module):  # type: ignore[misc]
    """As transformers' own (`KIND`) to the last bit, under the same names."""

    def __init__(self, body: Bert, classes: Sequence[str]) -> None:
        super().__init__()
        self.config = config = body.config
        config.id2label, config.label2id = dict(enumerate(classes)), {name: i for i, name in enumerate(classes)}
        body.encoder.first_tokens = True
        body.pooler = Pooler(config.hidden_size)
        self.bert = body
        dropout = getattr(config, "classifier_dropout", None)
        self.dropout = nn.Dropout(config.hidden_dropout_prob if dropout is None else dropout)
        self.classifier = Linear(config.hidden_size, len(classes))

    @property
    def base_model(self) -> Bert:
        return self.bert

    def forward(self, **inputs: Any) -> Any:
        states = self.bert(**inputs).last_hidden_state
        return SimpleNamespace(logits=self.classifier(self.dropout(self.bert.pooler(states))))

    def saved(self) -> Saved:
        """For transformers to load."""
        classes = [*self.config.id2label.values()]
        weights = {name: value.detach().cpu().clone() for name, value in self.state_dict().items()}
        return Saved({**self.config.to_diff_dict(), **about_classifier(KIND, classes)}, weights)


class Pooler(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = Linear(width, width)

    def forward(self, states: Tensor) -> Tensor:
        return torch.tanh(self.dense(states[:, 0]))


def load_first(backbone: Backbone, classes: Sequence[str]) -> tuple[Any, list[str]]:
    """The classifier, and the names of what is still to be drawn."""
    saved = Saved.read(backbone.folder)
    ours = None if saved is None else _ours(saved, classes)
    return _theirs(backbone, classes) if ours is None else ours


def save_first(module: Any, folder: Path) -> None:
    """Writes what `from_pretrained` reads."""
    if isinstance(module, FirstTokenClassifier):
        module.saved().write(folder)
        return
    with quiet():
        module.save_pretrained(folder)


def _ours(saved: Saved, classes: Sequence[str]) -> tuple[FirstTokenClassifier, list[str]] | None:
    """None where it might not be what transformers makes of the files, of an encoder or of such a classifier."""
    there = {name.removeprefix("bert."): weight for name, weight in saved.weights.items() if name not in HEAD}
    body = encoder_of(Saved(saved.config, there))
    if not isinstance(body, Bert):
        return None
    module = FirstTokenClassifier(body, classes)
    found = {name: there.get(name.removeprefix("bert."), saved.weights.get(name)) for name in (*POOLER, *HEAD)}
    known = {name: weight.float() for name, weight in found.items() if weight is not None}
    if any(weight.shape != module.get_parameter(name).shape for name, weight in known.items()):
        return None
    module.load_state_dict(known, strict=False, assign=True)
    module.eval()
    return module, [name for name in found if name not in known]


def _theirs(backbone: Backbone, classes: Sequence[str]) -> tuple[Any, list[str]]:
    from transformers import AutoModelForSequenceClassification

    options = {
        "num_labels": len(classes),
        "id2label": dict(enumerate(classes)),
        "label2id": {name: i for i, name in enumerate(classes)},
        "problem_type": "single_label_classification",
        "dtype": torch.float32,
        "use_safetensors": True,
        "trust_remote_code": False,
    }
    with quiet():
        module, loaded = AutoModelForSequenceClassification.from_pretrained(
            Path(backbone.folder), output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    if loaded["mismatched_keys"]:
        name = sorted(str(mismatch[0]) for mismatch in loaded["mismatched_keys"])[0]
        raise UserError(
            f"Backbone '{backbone.name}' cannot be loaded as a text classifier of {len(classes)} classes: its "
            f"`{name}` has another shape; use an encoder without a head, or one with a head of as many classes."
        )
    return module, list(loaded["missing_keys"])
