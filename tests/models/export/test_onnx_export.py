from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from hybridal.backbones.text_encoder import TextEncoder
from hybridal.errors import UserError
from hybridal.models.export import onnx_export as onnx
from hybridal.models.export.onnx_export import NEEDED, Probabilities, check_onnx, export_onnx
from hybridal.models.export.portable_export import pooled_classifier

from ..bodies import HAS_MINILM, MINILM, WORDS, batch_of, body_of, head_of

CLASSES = ["gut", "so là là", "bad"]
installed = pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason="needs `hybridal[onnx]`")


@dataclass(frozen=True)
class Letters:
    """Each letter a token, 48 at most."""

    key: str = ""
    pad: int = 0

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[5 + ord(letter) % (WORDS - 5) for letter in text][:48] or [self.pad] for text in texts]


def difference(session: Any, module: Any, ids: Any, mask: Any) -> float:
    (found,) = session.run(["probabilities"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})
    with torch.inference_mode():
        return float(np.abs(found - module(ids, mask).numpy()).max())


def session_of(path: Path) -> Any:
    return importlib.import_module("onnxruntime").InferenceSession(path)


@installed
def test_exported_file_takes_any_number_and_length_of_texts(tmp_path: Path) -> None:
    module = Probabilities(pooled_classifier(body_of("bert"), *head_of(3, 4), 1.3, CLASSES))
    path = export_onnx(module, Letters(), CLASSES, tmp_path)
    assert path == tmp_path / "model.onnx"
    assert [*tmp_path.iterdir()] == [path]
    session = session_of(path)
    assert [given.name for given in session.get_inputs()] == ["input_ids", "attention_mask"]
    assert json.loads(session.get_modelmeta().custom_metadata_map["classes"]) == CLASSES
    ids, mask = batch_of(pad=0)
    for texts, tokens in ((1, 1), (1, 7), (3, 3), (5, 1), (7, 20), (7, 48)):
        assert difference(session, module, ids[:texts, :tokens], mask[:texts, :tokens]) < 1e-5


@installed
@pytest.mark.skipif(not HAS_MINILM, reason="all-MiniLM-L6-v2 was not fetched before")
def test_a_real_encoder(tmp_path: Path) -> None:
    # One layer of it: all are alike to who traces them.
    body, encoder = AutoModel.from_pretrained(MINILM, num_hidden_layers=1).eval(), TextEncoder(MINILM, 64)
    module = Probabilities(pooled_classifier(body, *head_of(3, 8, width=384), 1.3, CLASSES))
    session = session_of(export_onnx(module, encoder, CLASSES, tmp_path))
    rows = encoder.encode(["Hi.", "The parcel came two days late!", "word " * 50])
    for texts in ([0], [1], [2], [0, 1, 2], [1, 0]):
        assert difference(session, module, *onnx._batch([rows[text] for text in texts], encoder.pad)) < 1e-5


class Flat(torch.nn.Module):  # type: ignore[misc]
    """Returns the same logit for all texts."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        return (input_ids + attention_mask).float()[:, :1] * 0 + self.value


@installed
def test_export_with_differing_probabilities_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = onnx._traced
    monkeypatch.setattr(onnx, "_traced", lambda _module, example: traced(Flat(0.0), example))
    with pytest.raises(UserError, match=r"probabilities differ from the classifier's by 0\.5"):
        export_onnx(Flat(0.5), Letters(), CLASSES, tmp_path)
    assert not [*tmp_path.iterdir()]


@installed
def test_untraceable_model_gets_one_sentence(tmp_path: Path) -> None:
    class Decides(torch.nn.Module):  # type: ignore[misc]
        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return input_ids.float() if input_ids.sum() > 3 else attention_mask.float()

    with pytest.raises(UserError, match=r"^This encoder cannot be written as ONNX: .+") as refusal:
        export_onnx(Decides(), Letters(), CLASSES, tmp_path)
    assert "\n" not in str(refusal.value)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == "onnxscript" else find_spec(name))
    monkeypatch.setattr(onnx, "NEEDED", ("json", "onnxscript"))
    with pytest.raises(
        UserError, match=r"^onnxscript is not installed; `pip install 'hybridal\[onnx\]'` brings ONNX\.$"
    ):
        check_onnx()
    with pytest.raises(UserError, match="not installed"):
        export_onnx(Flat(0.5), Letters(), CLASSES, tmp_path)
