"""Encoders from the Hugging Face hub, or from its local cache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from hybridal.backbones.tokenizer import TOKENIZER_FILES
from hybridal.errors import UserError, reason

_WEIGHTS = ["*.safetensors", "*.safetensors.index.json"]
_POOLING = "1_Pooling/config.json"  # of encoders that were trained to compare texts
_FILES = ["config.json", *_WEIGHTS, *TOKENIZER_FILES, _POOLING]


def folder(hub_id: str, notify: Callable[[str], None]) -> Path:
    """Downloads what is needed of a repository once, and gives its folder."""
    if (here := cached(hub_id)) is not None:
        return here
    notify(f"Downloading {hub_id} from the hub")
    return _downloaded(hub_id, _FILES)


def cached(hub_id: str) -> Path | None:
    """The folder of a repository that was downloaded before; None if it was not."""
    from huggingface_hub import snapshot_download

    with contextlib.suppress(Exception):  # not in the cache yet: the hub's client raises many kinds for that
        here = Path(snapshot_download(hub_id, allow_patterns=_FILES, local_files_only=True))
        # Other tools may have fetched a part alone, such as the tokenizer.
        if (here / "config.json").is_file() and any(here.glob("*.safetensors")):
            return here
    return None


def configuration(hub_id: str) -> Path:
    """A folder with the repository's `config.json`, which takes a moment to download."""
    return _downloaded(hub_id, ["config.json"])


def _downloaded(hub_id: str, files: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_id, allow_patterns=[*files]))
    except Exception as error:
        raise UserError(
            f"Backbone '{hub_id}' is neither a folder here nor available from the hub ({reason(error)}); "
            "check the name and the connection, or use `backbone=minilm`.",
            field="backbone",
        ) from error
