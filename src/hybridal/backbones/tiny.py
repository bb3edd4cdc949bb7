"""A two-layer random encoder with a vocabulary from the task's texts, for tests and dry runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridal.backbones.tokenizer import CONFIG, FILE
from hybridal.randomness import key
from hybridal.system.cache import cache_dir
from hybridal.system.files import folder_made_whole, strict_json
from hybridal.tasks.task import Task

VOCABULARY = 2000
TEXTS = 20_000
WIDTH, WIDE, LAYERS, POSITIONS = 64, 128, 2, 512
SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def folder(task: Task) -> Path:
    """Create the encoder once per task; the same texts give the same encoder."""
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

    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    clean = (normalizer.normalize_str(text.encode("utf-8", "replace").decode()) for text in texts)
    words = Counter(word for text in clean for word, _ in splitter.pre_tokenize_str(text))
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL.values(), *_pieces(words)][:VOCABULARY])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens([*SPECIAL.values()])
    tokenizer.save(str(target / FILE))
    about: dict[str, Any] = {**SPECIAL, "backend": "tokenizers", "tokenizer_class": "TokenizersBackend"}
    about["model_max_length"] = int(1e30)  # the value of transformers for "no limit"
    (target / CONFIG).write_text(strict_json(dict(sorted(about.items())), indent=2) + "\n", encoding="utf-8")


def _pieces(words: Counter[str]) -> Iterable[str]:
    """Return frequent characters, inside a word and at its start, then frequent words; ties are sorted.

    The trainer of the library breaks ties at random, so that machines would differ.
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
    """Initialise the weights like transformers, which initialises each module twice."""
    import torch
    from safetensors.torch import save_file

    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": WIDE,
        "max_position_embeddings": POSITIONS,
    }
    (target / "config.json").write_text(strict_json(config, indent=2) + "\n", encoding="utf-8")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(key(0, "tiny"))
        modules = dict(_modules())
        for name, module in modules.items():
            if name.endswith("LayerNorm"):
                continue
            module.weight.normal_(0.0, 0.02)
            if hasattr(module, "bias"):
                module.bias.zero_()
            elif module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
    weights = {
        f"{name}.{part}": value for name, module in modules.items() for part, value in module.state_dict().items()
    }
    save_file(weights, target / "model.safetensors", {"format": "pt"})


def _modules() -> Iterator[tuple[str, Any]]:
    """Yield the modules in the order and with the names of BERT."""
    from torch import nn

    yield "embeddings.word_embeddings", nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
    yield "embeddings.position_embeddings", nn.Embedding(POSITIONS, WIDTH)
    yield "embeddings.token_type_embeddings", nn.Embedding(2, WIDTH)
    yield "embeddings.LayerNorm", nn.LayerNorm(WIDTH)
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            yield f"{layer}.attention.{name}", nn.Linear(WIDTH, WIDTH)
        yield f"{layer}.attention.output.LayerNorm", nn.LayerNorm(WIDTH)
        yield f"{layer}.intermediate.dense", nn.Linear(WIDTH, WIDE)
        yield f"{layer}.output.dense", nn.Linear(WIDE, WIDTH)
        yield f"{layer}.output.LayerNorm", nn.LayerNorm(WIDTH)
    yield "pooler.dense", nn.Linear(WIDTH, WIDTH)
