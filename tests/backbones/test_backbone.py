from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModel, AutoTokenizer, ByT5Tokenizer

from hybridal.backbones import Backbone, load_backbone
from hybridal.backbones.text_encoder import LOADING, TextEncoder
from hybridal.errors import UserError
from hybridal.testing.small import toy_task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tiny backbone, to be altered."""
    return shutil.copytree(load_backbone("tiny", toy_task()).folder, tmp_path / "copy")


def configure(folder: Path, **fields: Any) -> Backbone:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    return Backbone("mine", folder)


def test_a_length_above_the_positions_is_refused(folder: Path) -> None:
    backbone = configure(folder, max_position_embeddings=16)
    assert backbone.encoder(16).max_length == 16
    with pytest.raises(UserError) as caught:
        backbone.encoder(17)
    assert str(caught.value) == "`max_length` is 17, but backbone 'mine' reads 16 tokens at most."


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "mpnet"])
def test_roberta_positions_start_after_the_padding_index(folder: Path, kind: str) -> None:
    backbone = configure(folder, model_type=kind, max_position_embeddings=514, pad_token_id=1)
    assert backbone.max_positions == 512
    with pytest.raises(UserError, match="reads 512 tokens at most"):
        backbone.encoder(513)


def test_relative_positions_allow_any_length(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config["max_position_embeddings"]
    (folder / "config.json").write_text(json.dumps(config))
    assert Backbone("mine", folder).encoder(10_000).max_length == 10_000


def test_special_tokens_and_the_cut(folder: Path) -> None:
    encoder = TextEncoder(folder, 5)
    short, long = encoder.encode(["goal", "the goal and the win of the team"])
    assert (short[0], short[-1], len(short)) == (2, 3, 3)
    assert (long[0], long[-1], len(long)) == (2, 3, 5)
    assert long[1:4] == TextEncoder(folder, 64).encode(["the goal and"])[0][1:4]


def test_text_with_broken_unicode_is_tokenised(folder: Path) -> None:
    encoder = TextEncoder(folder, 8)
    assert encoder.encode(["moon \udc80 star"])[0] == encoder.encode(["moon ? star"])[0]


def test_single_string_instead_of_texts_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"'the moon' is one text, .*; give a list of texts"):
        TextEncoder(folder, 8).encode("the moon")


def test_the_key_follows_the_tokenizer_and_not_its_folder(folder: Path, tmp_path: Path) -> None:
    key = TextEncoder(folder, 8).key
    moved = shutil.copytree(folder, tmp_path / "moved")
    (moved / "model.safetensors").write_bytes(b"other weights")
    assert TextEncoder(moved, 8).key == key
    assert TextEncoder(folder, 9).key != key
    (moved / "tokenizer.json").write_text((moved / "tokenizer.json").read_text() + " ")
    assert TextEncoder(moved, 8).key != key


@pytest.mark.parametrize(
    "name", ["special_tokens_map.json", "sentencepiece.bpe.model", "tokenizer.model", "spm.model", "spiece.model"]
)
def test_the_key_follows_every_file_of_a_tokenizer(folder: Path, name: str) -> None:
    """Otherwise two tokenizers would share the cached token ids."""
    (folder / name).write_bytes(b"{}")
    key = TextEncoder(folder, 8).key
    (folder / name).write_bytes(b"{ }")
    assert TextEncoder(folder, 8).key != key


def test_a_saved_tokenizer_reads_alike(folder: Path, tmp_path: Path) -> None:
    TextEncoder(folder, 8).save(tmp_path / "saved")
    texts = ["the moon", "no_progress of"]
    assert TextEncoder(tmp_path / "saved", 8).encode(texts) == TextEncoder(folder, 8).encode(texts)


def test_a_saved_tokenizer_cuts_texts_for_others_too(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    TextEncoder(folder, 8).save(tmp_path / "saved")
    rows = AutoTokenizer.from_pretrained(tmp_path / "saved")(["the moon " * 600], truncation=True)["input_ids"]
    assert rows == TextEncoder(folder, 8).encode(["the moon " * 600])


def test_backbones_are_the_same_by_name(folder: Path, tmp_path: Path) -> None:
    assert Backbone("a", folder) == Backbone("a", shutil.copytree(folder, tmp_path / "moved"))
    assert Backbone("a", folder) != Backbone("b", folder)


@pytest.mark.parametrize("side", ["left", "right"])
def test_texts_are_read_as_transformers_reads_them(folder: Path, side: str) -> None:
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "truncation_side": side}))
    texts = [*toy_task().train.texts, "", " ", "[MASK] [SEP] of", "the moon " * 50, "🦊\0\nﷺ"]
    reference = AutoTokenizer.from_pretrained(folder)(texts, truncation=True, max_length=6)["input_ids"]
    assert TextEncoder(folder, 6).encode(texts) == reference


def test_tokenizer_without_a_fast_version(tmp_path: Path) -> None:
    ByT5Tokenizer().save_pretrained(tmp_path)
    encoder = TextEncoder(tmp_path, 4)
    assert encoder.encode(["a", "abcdef", ""]) == [[100, 1], [100, 101, 102, 1], [1]]  # bytes follow three signs


@pytest.mark.parametrize("name", ["num_hidden_layers", "n_layers"])
def test_more_layers_to_train_than_there_are(folder: Path, name: str) -> None:
    backbone = configure(folder, **{"num_hidden_layers": None, name: 2})
    backbone.limits.check(512, None)
    backbone.limits.check(512, 2)
    with pytest.raises(UserError, match=r"`train_layers` is 3, but backbone '.*' has 2 layers"):
        backbone.limits.check(512, 3)


def test_weight_bytes_count_four_bytes_per_parameter(folder: Path, tmp_path: Path) -> None:
    module = AutoModel.from_pretrained(folder)
    wanted = 4 * sum(weight.numel() for weight in module.parameters())
    assert Backbone("mine", folder).weight_bytes == wanted
    module.half().save_pretrained(tmp_path / "half")
    assert Backbone("half", tmp_path / "half").weight_bytes == wanted


def test_two_threads_never_load_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = AutoTokenizer.from_pretrained
    free: list[bool] = []

    def loads(*given: Any, **options: Any) -> Any:
        with ThreadPoolExecutor(1) as other:
            free.append(other.submit(LOADING.acquire, blocking=False).result())
        return load(*given, **options)

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", loads)
    (folder / "tokenizer_config.json").unlink()  # without it, transformers is asked
    TextEncoder(folder, 8).encode(["a text"])
    assert free == [False]


def test_pooling_comes_from_the_pooling_file_or_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert [Backbone(name, tmp_path).pooling for name in ("minilm", "tiny", "bert", "mine")] == [
        "mean", "mean", "first", "first",
    ]  # fmt: skip
    assert [Backbone(name, tmp_path).knows_pooling for name in ("minilm", "bert", "mine")] == [True, True, False]
    (tmp_path / "1_Pooling").mkdir()
    for mean, pooling in ((True, "mean"), (False, "first")):
        pooling_config = {"pooling_mode_cls_token": not mean, "pooling_mode_mean_tokens": mean}
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling_config))
        assert {Backbone(name, tmp_path).pooling for name in ("minilm", "mine")} == {pooling}
        assert Backbone("mine", tmp_path).knows_pooling


@pytest.mark.parametrize("mode", ["max_tokens", "weightedmean_tokens", "lasttoken"])
def test_unsupported_pooling_is_refused_by_name(folder: Path, mode: str) -> None:
    (folder / "1_Pooling").mkdir()
    pooling_config = {"word_embedding_dimension": 64, f"pooling_mode_{mode}": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling_config))
    with pytest.raises(UserError, match=rf"pooling of {mode} .*; choose `pooling=mean` or `pooling=first`") as caught:
        _ = Backbone("mine", folder).pooling
    assert caught.value.field == "protocol.pooling"


def test_mean_sqrt_len_pooling_is_read_as_mean(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_sqrt_len_tokens": true}')
    assert Backbone("mine", folder).pooling == "mean"


def without_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    without_tokenizer(folder)
    with pytest.raises(UserError, match="has no tokenizer; save the encoder's tokenizer there"):
        Backbone("mine", folder).encoder(8)


@pytest.mark.parametrize(
    ("name", "content"),
    [("tokenizer_config.json", '{"tokenizer_class": "BertTokenizer"}'), ("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n")],
)
def test_a_tokenizer_without_a_vocabulary_is_refused(folder: Path, name: str, content: str) -> None:
    """Transformers makes one that reads every word as [UNK], and says nothing."""
    without_tokenizer(folder)
    (folder / name).write_text(content)
    with pytest.raises(UserError, match="has no vocabulary, so that every word would be unknown"):
        Backbone("mine", folder).encoder(8)


@pytest.mark.parametrize("length", [1, 2])
def test_a_length_that_leaves_no_room_for_a_word_is_refused(folder: Path, length: int) -> None:
    with pytest.raises(UserError, match=rf"`max_length` is {length}, and 2 .*; use 3 or more") as caught:
        Backbone("mine", folder).encoder(length)
    assert caught.value.field == "protocol.max_length"
    assert len(Backbone("mine", folder).encoder(3).encode(["goal"])[0]) == 3


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b'{"half', b"\x00\xff", b"[]"])
def test_a_damaged_tokenizer_is_refused_by_its_file(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=rf"{name} is damaged: .*; copy or save it again"):
        Backbone("mine", folder).encoder(8)


def test_a_tokenizer_of_an_unknown_form_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(
        UserError, match=r"The tokenizer in .* cannot be read \(KeyError: 'model'\); copy its files again"
    ):
        Backbone("mine", folder).encoder(8)


@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff"])
def test_a_damaged_configuration_is_refused(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(UserError, match=r"config\.json is damaged: .*; copy or save it again"):
        Backbone("mine", folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_hidden_layers", -1),
        ("max_position_embeddings", "many"),
        ("num_attention_heads", -1),
        ("n_heads", 2.5),
        ("layer_norm_eps", None),
        ("initializer_range", "x"),
    ],
)
def test_a_number_in_the_configuration_that_cannot_be_is_refused(folder: Path, name: str, value: object) -> None:
    with pytest.raises(UserError, match=rf"config\.json is damaged: `{name}` is {value!r}"):
        configure(folder, **{name: value})


def test_tokenizer_code_is_refused_without_a_prompt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    load = AutoTokenizer.from_pretrained

    def recorded(*given: Any, **named: Any) -> Any:
        told.append(named)
        return load(*given, **named)

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", recorded)
    (folder / "tokenizer_config.json").unlink()  # without it, transformers is asked
    Backbone("mine", folder).encoder(8)
    assert told == [{"trust_remote_code": False}]
