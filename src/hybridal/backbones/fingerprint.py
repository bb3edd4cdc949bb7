"""Recognise an encoder in a folder by its content: on another machine it may lie in another folder."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from hybridal.backbones.auto_candidates import is_auto
from hybridal.backbones.backbone import Backbone
from hybridal.backbones.catalogue import entry_of
from hybridal.backbones.load import local_encoder
from hybridal.backbones.text_encoder import TextEncoder
from hybridal.errors import UserError

WEIGHTS = "*.safetensors"


def encoder_fingerprint(name: str) -> str | None:
    """Return a hash of an encoder's configuration, tokenizer, pooling and weights.

    Args:
        name: A folder, a name in the folder `HYBRIDAL_MODELS`, or a hub id.

    Returns:
        The hash; None for an encoder of the catalogue, whose name says what it is, for several candidates, and for an
        encoder that is not on this machine or is damaged.
    """
    if is_auto(name) or entry_of(name) is not None:
        return None
    with suppress(UserError, OSError):
        backbone = local_encoder(name)
        return None if backbone is None else _fingerprint(backbone)
    return None


def _fingerprint(backbone: Backbone) -> str:
    folder = backbone.folder
    found = hashlib.sha256((folder / "config.json").read_bytes())
    # The tokenizer's key covers its files and the prefix.
    for part in (TextEncoder(folder, 0, backbone.prefix).key, backbone.pooling):
        found.update(f"\0{part}".encode())
    for path in sorted(folder.glob(WEIGHTS)):
        state = path.stat()
        found.update(f"\0{path.name}\0{_digest(path, state.st_size, state.st_mtime_ns)}".encode())
    return found.hexdigest()


@lru_cache(maxsize=64)
def _digest(path: Path, _size: int, _changed: int) -> str:
    """Hash a file; it is read again only if its size or time changed, since weights take up to seconds."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
