"""A two-layer random encoder whose vocabulary is counted in the task's own texts: for tests and dry runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from hybridal.randomness import key
from hybridal.system.cache import cache_dir
from hybridal.system.files import folder_made_whole
from hybridal.tasks.task import Task

VOCABULARY = 2000
TEXTS = 20_000


def folder(task: Task) -> Path:
    """Made once per task; the same texts give the same encoder."""
    texts = task.train.texts[:TEXTS]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    home = cache_dir() / "backbones" / f"tiny-{digest}"
    if not home.is_dir():
        with folder_made_whole(home) as scratch:
            _save_tokenizer(texts, scratch)
            _save_encoder(scratch)
    return home


def _save_tokenizer(texts: Sequence[str], target: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    clean = (normalizer.normalize_str(text.encode("utf-8", "replace").decode()) for text in texts)
    words = Counter(word for text in clean for word, _ in splitter.pre_tokenize_str(text))
    vocabulary = {piece: number for number, piece in enumerate([*special, *_pieces(words)][:VOCABULARY])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(target)


def _pieces(words: Counter[str]) -> Iterable[str]:
    """Frequent characters, inside a word and at its start, then frequent words; ties go by spelling.

    Counted here because the library's own trainer breaks ties at random: no two machines would agree.
    """
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    common = _by_frequency(characters)[: VOCABULARY // 4]
    return dict.fromkeys([*common, *(f"##{character}" for character in common), *_by_frequency(words)])


def _by_frequency(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def _save_encoder(target: Path) -> None:
    import torch
    from transformers import BertConfig, BertModel
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()

    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=512,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(0, "tiny"))
        BertModel(config).save_pretrained(target)
