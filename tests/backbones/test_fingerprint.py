"""Two folders have the same fingerprint if and only if hybridal reads the same encoder from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from hybridal.backbones import load_backbone
from hybridal.backbones.backbone import NESTED
from hybridal.backbones.fingerprint import encoder_fingerprint
from hybridal.testing.small import toy_task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(load_backbone("tiny", toy_task()).folder, tmp_path / "copy"))


def test_a_copy_is_the_same_encoder_whatever_else_is_in_its_folder(folder: Path, tmp_path: Path) -> None:
    known = encoder_fingerprint(str(folder))
    assert known is not None
    moved = Path(shutil.copytree(folder, tmp_path / "moved"))
    (moved / "README.md").write_text("My encoder")
    assert encoder_fingerprint(str(moved)) == known
    shutil.copytree(folder, tmp_path / "older" / NESTED)
    assert encoder_fingerprint(str(tmp_path / "older")) == known


def test_other_weights_configuration_tokenizer_or_pooling_are_another_encoder(folder: Path) -> None:
    known = {encoder_fingerprint(str(folder))}
    weights = load_file(folder / "model.safetensors")
    name = next(iter(weights))
    with torch.no_grad():
        weights[name].view(-1)[0] += 1
    save_file(weights, folder / "model.safetensors")
    known.add(encoder_fingerprint(str(folder)))
    config = folder / "config.json"
    config.write_text(config.read_text().replace("{", '{"note": 1,', 1))
    known.add(encoder_fingerprint(str(folder)))
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    known.add(encoder_fingerprint(str(folder)))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    known.add(encoder_fingerprint(str(folder)))
    assert len(known) == 5
    assert None not in known


def test_encoders_that_are_compared_by_name_or_are_not_here_have_none(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").write_text("{")
    for name in (
        "auto",
        "auto:minilm,tiny",
        "minilm",
        "tiny",
        "thenlper/gte-small@main",
        "nobody/nothing",
        str(tmp_path / "none"),
        str(folder),
    ):
        assert encoder_fingerprint(name) is None
