from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast, T5Config, T5Model

from hybridal.backbones import Backbone
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.models.encoder_check import check_encoder, main
from hybridal.models.transformer import TransformerModel
from hybridal.tasks import Task

from .parts import CPU, random_backbone

SMALL: dict[str, tuple[Any, Any]] = {
    "gpt2": (GPT2Model, GPT2Config(vocab_size=2000, n_embd=32, n_layer=1, n_head=2, n_positions=64)),
    "t5": (T5Model, T5Config(vocab_size=2000, d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2)),
}


def decoder(kind: str, tiny: Backbone, folder: Path) -> Backbone:
    """A model that writes text, with a tokenizer that has no padding token."""
    model, config = SMALL[kind]
    with torch.random.fork_rng(devices=[]):
        model(config).save_pretrained(folder)
    file = str(tiny.folder / "tokenizer.json")
    PreTrainedTokenizerFast(tokenizer_file=file, unk_token="[UNK]").save_pretrained(folder)
    return Backbone("mine", folder)


@pytest.mark.parametrize(
    ("kind", "pooling", "why"), [("gpt2", "first", "no padding token"), ("t5", "mean", "input_ids or inputs_embeds")]
)
def test_a_decoder_is_refused(kind: str, pooling: Any, why: str, tiny: Backbone, task: Task, tmp_path: Path) -> None:
    backbone = decoder(kind, tiny, tmp_path)
    with pytest.raises(
        UserError, match=rf"Backbone 'mine' \({kind}\) cannot classify texts: .*{why}.*; choose an encoder"
    ):
        TransformerModel(task, backbone, Rules(max_length=8, pooling=pooling), 7, CPU)


def test_a_decoder_that_pads_but_has_no_features_of_a_text_is_refused(
    tiny: Backbone, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SMALL["gpt2"][1], "pad_token_id", 0)
    backbone = decoder("gpt2", tiny, tmp_path)
    with pytest.raises(
        UserError, match=r"Backbone 'mine' \(gpt2\) cannot classify texts: .*features of shape \(2, 8, 32\)"
    ):
        TransformerModel(task, backbone, Rules(max_length=8, pooling="first"), 7, CPU)


def test_decoder_with_mean_pooling_is_accepted(tiny: Backbone, task: Task, tmp_path: Path) -> None:
    backbone = decoder("gpt2", tiny, tmp_path)
    assert TransformerModel(task, backbone, Rules(max_length=8, pooling="mean"), 7, CPU).classifier.pooling == "mean"


def test_a_tokenizer_of_another_encoder_is_refused(
    tiny: Backbone, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from .parts import ARCHITECTURES

    monkeypatch.setattr(ARCHITECTURES["bert"][1], "vocab_size", 20)
    backbone = random_backbone("bert", tiny.folder, tmp_path)
    with pytest.raises(
        UserError, match=r"has embeddings for 20 tokens, but its tokenizer gives the id \d+: the two do"
    ):
        TransformerModel(task, backbone, Rules(max_length=8), 7, CPU)


def test_a_program_says_why_a_folder_is_refused(
    tiny: Backbone, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (main(str(tiny.folder)), capsys.readouterr().out) == (0, "")
    decoder("t5", tiny, tmp_path)
    assert main(str(tmp_path)) == 1
    assert "(t5) cannot classify texts" in capsys.readouterr().out


def test_any_encoder_is_checked_without_a_task(tiny: Backbone, tmp_path: Path) -> None:
    check_encoder(tiny, Rules(max_length=8))
    with pytest.raises(UserError, match="no padding token"):
        check_encoder(decoder("gpt2", tiny, tmp_path), Rules(max_length=8))
