"""A prefix gives the tokens of the whole text, whatever follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from hybridal.backbones import beginnings
from hybridal.backbones.beginnings import encode_beginnings, reads_word_by_word

WORDS = ["play", "played", "player", "out", "outplay", "un", "able", "1996", "e\u0301te\u0301", "ça", "don't", "比赛"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<mask>"]
# Whole words, and what tokenizers look at more closely: blanks of many kinds, accents, signs, scripts without blanks.
PARTS = st.one_of(
    st.sampled_from([*WORDS, *SPECIAL, *map(str.upper, WORDS)]),
    st.sampled_from([" ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "\u2581", "\u200d", "\0", "\ufffd"]),
    st.sampled_from([" \u0301", "\u0301", "Σ", "ﬁ", "'s", " 's", "...", "_", "a" * 120, "ﷺ", "İ", "🦊"]),
    st.text(max_size=3),
)
TEXTS = st.lists(PARTS, max_size=40).map("".join).map(lambda text: text.encode("utf-8", "replace").decode())

Bert = normalizers.BertNormalizer
MAKES: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "bert": lambda: (models.WordPiece, Bert(), pre_tokenizers.BertPreTokenizer()),
    "cased": lambda: (models.WordPiece, Bert(lowercase=False), pre_tokenizers.BertPreTokenizer()),
    "roberta": lambda: (models.BPE, None, pre_tokenizers.ByteLevel()),
    "albert": lambda: (
        models.Unigram,
        normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
        pre_tokenizers.Metaspace(),
    ),
    "xlm": lambda: (
        models.Unigram,
        normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()]),
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
    ),
    "words": lambda: (models.WordLevel, normalizers.NFC(), pre_tokenizers.Whitespace()),
}
TRAINERS = {
    models.WordPiece: trainers.WordPieceTrainer,
    models.BPE: trainers.BpeTrainer,
    models.Unigram: trainers.UnigramTrainer,
    models.WordLevel: trainers.WordLevelTrainer,
}


@cache
def tokenizer(name: str, length: int = 9) -> Any:
    kind, normalizer, pre_tokenizer = MAKES[name]()
    made = Tokenizer(kind() if kind is models.Unigram or kind is models.BPE else kind(unk_token="[UNK]"))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer
    options = {"unk_token": "[UNK]"} if kind is models.Unigram else {}
    trainer = TRAINERS[kind](vocab_size=120, special_tokens=SPECIAL, show_progress=False, **options)
    made.train_from_iterator([" ".join(WORDS)] * 20, trainer)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True, special=True)])
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_truncation(length)
    return made


def whole(made: Any, texts: Sequence[str]) -> list[list[int]]:
    return [encoding.ids for encoding in made.encode_batch_fast(list(texts))]


class Counting:
    """A tokenizer that counts the letters it was given."""

    def __init__(self, made: Any) -> None:
        self.made, self.letters = made, 0

    def encode_batch_fast(self, texts: Sequence[str]) -> Any:
        self.letters += sum(map(len, texts))
        return self.made.encode_batch_fast(list(texts))


@pytest.mark.parametrize("name", MAKES)
@settings(deadline=None, max_examples=150)
@given(texts=st.lists(TEXTS, max_size=4), letters=st.sampled_from([1, 2, 5]))
def test_prefix_gives_the_same_tokens_as_the_whole_text(name: str, texts: list[str], letters: int) -> None:
    made = tokenizer(name)
    assert reads_word_by_word(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beginnings, "LETTERS", letters)
        assert encode_beginnings(made, texts, 9) == whole(made, texts)


@pytest.mark.parametrize("name", MAKES)
def test_only_a_prefix_of_a_long_text_is_tokenised(name: str) -> None:
    made = Counting(tokenizer(name))
    texts = ["play outplay, un able " * 50_000, "played"]
    assert encode_beginnings(made, texts, 9) == whole(made.made, texts)
    assert made.letters < 200


@pytest.mark.parametrize(
    "text", [" " * 100_000 + "play out", "比赛" * 1_000, "\u200d " * 5_000 + "a play", "a" * 9_000]
)
def test_prefix_grows_for_texts_with_few_words(text: str) -> None:
    for name in MAKES:
        assert encode_beginnings(tokenizer(name), [text, "play"], 9) == whole(tokenizer(name), [text, "play"])


def edited(change: Callable[[Any], object]) -> Any:
    made = Tokenizer.from_str(tokenizer("bert").to_str())
    change(made)
    return made


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.enable_truncation(9, direction="left"),
        lambda made: made.no_truncation(),
        lambda made: made.enable_padding(length=9),
        lambda made: made.add_tokens(["play out"]),
        lambda made: setattr(made, "pre_tokenizer", pre_tokenizers.ByteLevel(use_regex=False)),
        lambda made: setattr(made, "pre_tokenizer", pre_tokenizers.Metaspace(split=False)),
        lambda made: setattr(made, "pre_tokenizer", pre_tokenizers.Split(Regex("t o"), "isolated")),
        lambda made: setattr(made, "normalizer", normalizers.Replace("t o", "to")),
    ],
)
def test_whole_text_is_read_when_the_tokenizer_joins_words(change: Callable[[Any], object]) -> None:
    assert reads_word_by_word(edited(lambda made: None))
    assert not reads_word_by_word(edited(change))


def test_tokenizer_without_pipeline_steps_reads_whole_texts() -> None:
    assert not reads_word_by_word(Tokenizer(models.BPE()))
