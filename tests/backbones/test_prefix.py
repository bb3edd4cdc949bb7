from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, BertTokenizer, ByT5Tokenizer, RobertaTokenizer

from hybridal.backbones import Backbone, load_backbone
from hybridal.backbones.text_encoder import TextEncoder
from hybridal.backbones.tokenizer import read_fast_tokenizer
from hybridal.errors import UserError
from hybridal.testing.small import toy_task

from .test_tokenizer import HOSTILE, built_anew, rewrite

PREFIX = "query: "
PIECES = ["the", "moon", "query", ":", "a", "b", "##a", "##b", "query:", "3", "!"]


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load_backbone("tiny", toy_task()).folder


@pytest.fixture
def folder(encoder_folder: Path, tmp_path: Path) -> Path:
    """The tiny backbone, to be altered."""
    return shutil.copytree(encoder_folder, tmp_path / "copy")


def unigram(folder: Path) -> Path:
    """Give the folder a tokenizer of XLM-R's kind."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁moon", "▁query", ":", "a", "b", "▁a", "query", "é", "北"]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(at)) for at, piece in enumerate(pieces)], 3, False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" ", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.add_special_tokens([*pieces[:4]])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", **named}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    rewrite(folder / "config.json", model_type="xlm-roberta")
    return folder


def word_pieces(folder: Path) -> Path:
    built_anew(folder, BertTokenizer)
    return folder


KINDS = {"tiny": lambda folder: folder, "bert": word_pieces, "unigram": unigram}


@pytest.fixture(scope="session", params=[*KINDS])
def kind(request: pytest.FixtureRequest, encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(encoder_folder, tmp_path_factory.mktemp("kinds") / request.param)
    return Path(KINDS[request.param](folder))


def together(folder: Path, prefix: str, texts: list[str], max_length: int) -> list[list[int]]:
    """Token ids of the prefix and the text read as one, as sentence-transformers does."""
    return TextEncoder(folder, max_length).encode([prefix + text for text in texts])


@pytest.mark.parametrize("prefix", [PREFIX, "the moon: ", "the moon: the\nquery:\n"])
def test_a_prefix_is_read_as_if_it_were_part_of_the_text(kind: Path, prefix: str) -> None:
    assert TextEncoder(kind, 512, prefix).encode(HOSTILE) == together(kind, prefix, HOSTILE, 512)


@given(text=st.text(st.sampled_from("amoonthe query:3!é北\u0301\u00ad \n\t<s>[]") | st.characters(), max_size=40))
def test_any_text_after_a_prefix(kind: Path, text: str) -> None:
    assert TextEncoder(kind, 24, PREFIX).encode([text]) == together(kind, PREFIX, [text], 24)


def test_truncation_on_the_left_keeps_the_prefix(folder: Path) -> None:
    rewrite(folder / "tokenizer_config.json", truncation_side="left")
    query, moon = (TextEncoder(folder, 8).encode([text])[0][1:-1] for text in ("query:", "moon"))
    (row,) = TextEncoder(folder, 8, PREFIX).encode(["the goal " * 9 + "moon"])
    assert (row[1 : 1 + len(query)], row[-1 - len(moon) : -1], len(row)) == (query, moon, 8)


def test_a_text_after_a_prefix_needs_room(folder: Path) -> None:
    least = len(TextEncoder(folder, 64).encode(["query:"])[0])
    TextEncoder(folder, least + 1, PREFIX).check()
    with pytest.raises(UserError, match=rf"`max_length` is {least}, and {least} of these tokens are the tokenizer's"):
        TextEncoder(folder, least, PREFIX).check()


def test_the_key_follows_the_prefix(folder: Path) -> None:
    """Cached tokens of texts with another prefix are other tokens; those without one keep the key that they had."""
    keys = {TextEncoder(folder, 8, prefix).key for prefix in ("", "query: ", "query:", "passage: ")}
    assert len(keys) == 4


def test_encoders_with_and_without_a_prefix_do_not_share_a_tokenizer(folder: Path) -> None:
    plain, prefixed = TextEncoder(folder, 16), TextEncoder(folder, 16, PREFIX)
    before = plain.encode(["the moon"])
    assert len(prefixed.encode(["the moon"])[0]) > len(before[0])
    assert TextEncoder(folder, 16).encode(["the moon"]) == plain.encode(["the moon"]) == before


@pytest.mark.parametrize("max_length", [16, 512])
def test_a_saved_tokenizer_inserts_the_prefix_for_transformers_too(kind: Path, tmp_path: Path, max_length: int) -> None:
    encoder = TextEncoder(kind, max_length, PREFIX)
    encoder.save(tmp_path)
    shutil.copy(kind / "config.json", tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE]
    assert theirs(texts, truncation=True)["input_ids"] == encoder.encode(HOSTILE)
    assert (theirs.model_max_length, theirs.pad_token_id) == (max_length, encoder.pad)
    assert TextEncoder(tmp_path, max_length).encode(HOSTILE) == encoder.encode(HOSTILE)


def test_a_saved_tokenizer_with_a_prefix_is_read_without_transformers(folder: Path, tmp_path: Path) -> None:
    TextEncoder(word_pieces(folder), 16, PREFIX).save(tmp_path)
    shutil.copy(folder / "config.json", tmp_path)
    assert read_fast_tokenizer(tmp_path, 16) is not None


def test_a_prefix_that_the_first_word_would_join_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"cannot put the prefix 'query:' before texts: it reads a text differently"):
        TextEncoder(unigram(folder), 16, "query:").check()


def byte_level(folder: Path) -> None:
    vocabulary = {piece: at for at, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *"Ġgoalquery:T"])}
    RobertaTokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
    rewrite(folder / "config.json", model_type="roberta")


def bytes_alone(folder: Path) -> None:
    ByT5Tokenizer().save_pretrained(folder)


@pytest.mark.parametrize(("give", "why"), [(byte_level, "reads a text differently after"), (bytes_alone, "is not one")])
def test_a_tokenizer_that_cannot_insert_a_prefix_is_refused(give: Any, why: str, folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    give(folder)
    TextEncoder(folder, 16).check()
    with pytest.raises(UserError, match=rf"cannot put the prefix 'query: ' before texts.*{why}"):
        Backbone("e5-small", folder).encoder(16)
