"""Encoders from the Hugging Face hub or its local cache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from hybridal.backbones.sentence_files import MODULES, POOLING, PROMPTS
from hybridal.backbones.tokenizer import TOKENIZER_FILES
from hybridal.errors import UserError, reason

_WEIGHTS = ["*.safetensors", "*.safetensors.index.json"]
_FILES = ["config.json", *_WEIGHTS, *TOKENIZER_FILES, MODULES, PROMPTS, f"{POOLING}/config.json"]


def folder(hub_id: str, revision: str | None, notify: Callable[[str], None]) -> Path:
    """Return the folder of a repository; download its model files if they are not cached."""
    if (here := cached(hub_id, revision)) is not None:
        return here
    notify(f"Downloading {hub_id} from the hub")
    return _downloaded(hub_id, revision, _FILES)


def cached(hub_id: str, revision: str | None) -> Path | None:
    """Return the cached folder of a repository, or None."""
    from huggingface_hub import snapshot_download

    with contextlib.suppress(Exception):  # not cached: the client raises various errors for that
        here = Path(snapshot_download(hub_id, revision=revision, allow_patterns=_FILES, local_files_only=True))
        # Other tools may have downloaded only some files, such as the tokenizer.
        if (here / "config.json").is_file() and any(here.glob("*.safetensors")):
            return here
    return None


def configuration(hub_id: str, revision: str | None) -> Path:
    """Download only the `config.json` of a repository and return its folder."""
    return _downloaded(hub_id, revision, ["config.json"])


def _downloaded(hub_id: str, revision: str | None, files: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=[*files]))
    except Exception as error:
        raise UserError(
            f"Backbone '{hub_id}' is neither a folder here nor available from the hub ({reason(error)}); "
            "check the name and the connection, or use `backbone=minilm`.",
            field="backbone",
        ) from error
