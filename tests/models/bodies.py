"""Encoders with random weights, and the expected output of a mean-pooling classifier on them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    BertModel,
    CamembertConfig,
    CamembertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from hybridal.backbones.wheel_models import WHEEL_MODELS
from hybridal.models.export.pooled_modeling import PooledConfig, PooledForSequenceClassification
from hybridal.system.cache import cache_dir

# Read before the tests get a cache of their own.
MINILM = cache_dir() / "backbones" / "minilm"
HAS_MINILM = WHEEL_MODELS["minilm"].complete(MINILM)

WORDS, WIDTH, LENGTHS = 300, 64, (1, 2, 3, 9, 20, 37, 48)
# Larger than usual, so that tokens differ visibly.
_COMMON: dict[str, Any] = {"vocab_size": WORDS, "initializer_range": 0.3, "max_position_embeddings": 52}
_SHAPE = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, **_COMMON}
_ROBERTA = {"pad_token_id": 1, "layer_norm_eps": 1e-5, **_SHAPE}
PLAIN: dict[str, tuple[Any, Any]] = {
    "bert": (BertModel, BertConfig(**_SHAPE)),
    "distilbert": (DistilBertModel, DistilBertConfig(dim=WIDTH, n_layers=2, n_heads=4, hidden_dim=96, **_COMMON)),
    "roberta": (RobertaModel, RobertaConfig(**_ROBERTA)),
    "xlm-roberta": (XLMRobertaModel, XLMRobertaConfig(**_ROBERTA)),
    "camembert": (CamembertModel, CamembertConfig(**_ROBERTA)),
    "electra": (ElectraModel, ElectraConfig(embedding_size=24, **_SHAPE)),
}
OTHER: dict[str, tuple[Any, Any]] = {"mpnet": (MPNetModel, MPNetConfig(**_SHAPE))}


def register_pooled() -> None:
    """Let transformers load models with a head over the mean without asking whether their code may run."""
    AutoConfig.register(PooledConfig.model_type, PooledConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(PooledConfig, PooledForSequenceClassification, exist_ok=True)


def body_of(name: str) -> Any:
    kind, config = (PLAIN | OTHER)[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        body = kind(config).eval()
        for part in body.parameters():
            if part.ndim == 1:  # biases and layer norms, which start alike for all
                part.data += 0.1 * torch.randn(part.shape)
    return body


def head_of(classes: int, size: float, features: Tensor | None = None, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """`size` is about how large logits will be; over these features, no class will win all texts."""
    generator = torch.Generator().manual_seed(classes)
    weight = torch.randn(classes, width, generator=generator) * size / width**0.5
    noise = torch.randn(classes, generator=generator)
    return weight, noise if features is None else noise - weight @ features.mean(0)


def batch_of(pad: int) -> tuple[Tensor, Tensor]:
    """Rows of all `LENGTHS`, padded to the longest."""
    ids = torch.randint(5, WORDS, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).long()
    return torch.where(mask.bool(), ids, pad), mask


@torch.inference_mode()  # type: ignore[untyped-decorator]
def features_of(body: Any, ids: Tensor, mask: Tensor) -> Tensor:
    hidden = body(input_ids=ids, attention_mask=mask).last_hidden_state
    shown = mask[:, :, None].to(hidden.dtype)
    mean = (hidden * shown).sum(1) / shown.sum(1)
    return torch.nn.functional.layer_norm(mean, mean.shape[1:], eps=1e-12)


def expected(body: Any, weight: Tensor, bias: Tensor, temperature: float, ids: Tensor, mask: Tensor) -> Tensor:
    logits = (features_of(body, ids, mask) @ weight.T + bias) / temperature
    return logits.float().softmax(-1)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def found(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """The probabilities of a classifier of transformers."""
    return model(input_ids=ids, attention_mask=mask).logits.float().softmax(-1)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def found_alone(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """As `found`, each text by itself and without padding."""
    rows = [(row[: int(n)][None], shown[: int(n)][None]) for row, shown, n in zip(ids, mask, mask.sum(1), strict=True)]
    return torch.cat([found(model, *row) for row in rows])


def farthest(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())
