from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, BertTokenizer, MPNetTokenizer

from hybridal.backbones import load_backbone
from hybridal.backbones.text_encoder import TextEncoder
from hybridal.backbones.tokenizer import ADDED, CONFIG, FILE, SPECIAL, read_fast_tokenizer
from hybridal.errors import UserError
from hybridal.testing.small import toy_task

from ..models.bodies import HAS_MINILM, MINILM

HOSTILE = [
    "", " ", "\0", "\ufeff\u200b\u00ad", "\r\n\t\x0b\x85\u2028", "[CLS] [MASK][SEP]of[PAD]", "[ MASK ] <s></s> <mask>",
    "Ünïcödé naïve CAFÉ", "e\u0301 İstanbul ŞI ß ﬁ Ǆ", "北京 is 大きい 한국어", "🦊👨‍👩‍👧‍👦 ﷺ",
    "a" * 99, "a" * 100, "a" * 101, "the moon " * 400, "##ing ##the", "don't—stop…1,000.5%", "\ud83d", "\U0010ffff\x7f",
    "<pad> [UNK] [unk] ##", "foo<new>moon",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tiny backbone, to be altered."""
    return shutil.copytree(load_backbone("tiny", toy_task()).folder, tmp_path / "copy")


def rewrite(path: Path, **fields: Any) -> None:
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**known, **fields}))


def built_anew(folder: Path, kind: Any, **told: Any) -> None:
    """Gives the folder a tokenizer of a class that transformers builds from a vocabulary."""
    pieces = ["the", "moon", "cafe", "café", "Ü", "u", "a", "##a", "##ing", "naive", "of", "[", "]", "北", "don", "'"]
    named = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "<pad>", "</s>", "<mask>"]
    kind(vocab={piece: number for number, piece in enumerate([*named, *pieces])}, **told).save_pretrained(folder)
    rewrite(folder / "config.json", model_type="mpnet" if kind is MPNetTokenizer else "bert")


def assert_alike(folder: Path, max_length: int = 32) -> None:
    theirs = AutoTokenizer.from_pretrained(folder)
    clean = [text.encode("utf-8", "replace").decode() for text in HOSTILE]
    expected = theirs(clean, truncation=True, max_length=max_length)["input_ids"]
    encoder = TextEncoder(folder, max_length)
    assert encoder.encode(HOSTILE) == expected
    assert encoder.pad == (theirs.pad_token_id or 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_saved_tokenizer_is_read_without_transformers(folder: Path, side: str) -> None:
    rewrite(folder / CONFIG, truncation_side=side)
    assert read_fast_tokenizer(folder, 32) is not None
    assert_alike(folder)


@pytest.mark.parametrize("kind", [BertTokenizer, MPNetTokenizer])
@pytest.mark.parametrize(
    "told", [{}, {"do_lower_case": False}, {"strip_accents": False, "tokenize_chinese_chars": False}]
)
def test_tokenizer_rebuilt_by_transformers_is_read_alike(folder: Path, kind: Any, told: dict[str, Any]) -> None:
    built_anew(folder, kind, **told)
    fast = read_fast_tokenizer(folder, 32)
    assert fast is not None
    theirs = AutoTokenizer.from_pretrained(folder)
    theirs("", truncation=True, max_length=32)
    ours, expected = (json.loads(backend.to_str()) for backend in (fast.backend, theirs.backend_tokenizer))
    for settings in (ours, expected):
        del settings["decoder"], settings["post_processor"]
    assert ours == expected
    assert_alike(folder)


@pytest.mark.skipif(not HAS_MINILM, reason="all-MiniLM-L6-v2 was not fetched before")
def test_the_default_backbone(tmp_path: Path) -> None:
    assert read_fast_tokenizer(MINILM, 16) is not None
    assert_alike(MINILM, 16)
    TextEncoder(MINILM, 16).save(tmp_path)
    shutil.copy(MINILM / "config.json", tmp_path)
    assert_alike(tmp_path, 16)
    saved = AutoTokenizer.from_pretrained(tmp_path)(HOSTILE[:10], truncation=True)["input_ids"]
    assert saved == TextEncoder(MINILM, 16).encode(HOSTILE[:10])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (CONFIG, {"do_lower_case": False}),
        (CONFIG, {"strip_accents": False}),
        (CONFIG, {"tokenize_chinese_chars": False}),
        (CONFIG, {"tokenizer_class": "DistilBertTokenizer"}),
        (CONFIG, {"extra_special_tokens": ["moon"]}),
        (CONFIG, {"split_special_tokens": True}),
        (CONFIG, {"cls_token": "the"}),
        (CONFIG, {"pad_token": "[EMPTY]"}),
        (SPECIAL, {"sep_token": "moon"}),
        (SPECIAL, {"additional_special_tokens": ["of"]}),
        (FILE, {"normalizer": None}),
        (FILE, {"post_processor": None}),
        (FILE, {"pre_tokenizer": {"type": "Whitespace"}}),
        (FILE, {"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 4]}}),
        (FILE, {"added_tokens": []}),
        (ADDED, {"<new>": 25}),
        ("config.json", {"model_type": "roberta"}),
    ],
)
def test_disagreeing_files_fall_back_to_transformers(folder: Path, name: str, fields: dict[str, Any]) -> None:
    built_anew(folder, BertTokenizer)
    assert read_fast_tokenizer(folder, 32) is not None
    rewrite(folder / name, **fields)
    assert read_fast_tokenizer(folder, 32) is None
    assert_alike(folder)


@pytest.mark.parametrize("name", [FILE, CONFIG])
def test_missing_files_fall_back_to_transformers(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert read_fast_tokenizer(folder, 32) is None


def test_a_sentencepiece_model_without_its_packages_names_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / FILE).unlink()
    (folder / "sentencepiece.bpe.model").write_bytes(b"\n\x00")
    rewrite(folder / CONFIG, tokenizer_class="XLMRobertaTokenizer")
    rewrite(folder / "config.json", model_type="xlm-roberta")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(UserError, match=r"a SentencePiece model without a tokenizer\.json, .*; `pip install sente"):
        TextEncoder(folder, 16).check()
