"""Encoders from the Hugging Face hub or its local cache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
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
    here = _downloaded(hub_id, revision, _FILES)
    if (missing := _missing(here)) is not None:
        raise UserError(f"Model '{hub_id}' has no {missing} on the hub; choose another backbone.", field="backbone")
    return here


def cached(hub_id: str, revision: str | None) -> Path | None:
    """Return the cached folder of a repository, or None."""
    from huggingface_hub import snapshot_download

    with contextlib.suppress(Exception):  # not cached: the client raises various errors for that
        here = Path(snapshot_download(hub_id, revision=revision, allow_patterns=_FILES, local_files_only=True))
        # Other tools may have downloaded only some files, such as the tokenizer.
        return here if _missing(here) is None else None
    return None


def configuration(hub_id: str, revision: str | None) -> Path:
    """Download only the `config.json` of a repository and return its folder."""
    return _downloaded(hub_id, revision, ["config.json"])


def _missing(folder: Path) -> str | None:
    """What an encoder's folder lacks, or None."""
    names = [path.name for path in folder.iterdir()]
    if "config.json" not in names:
        return "config.json"
    if not any(name.endswith(".safetensors") for name in names):
        return "weights in the format safetensors"
    if not any(fnmatch(name, pattern) for name in names for pattern in TOKENIZER_FILES):
        return "files of a tokenizer"
    return None


def _downloaded(hub_id: str, revision: str | None, files: Sequence[str]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=[*files]))
    except Exception as error:
        raise UserError(_explanation(error, hub_id, revision), field="backbone") from error


def _explanation(error: Exception, hub_id: str, revision: str | None) -> str:
    """Why a model could not be downloaded, and what to do; the client's own errors begin with numbers and addresses."""
    from huggingface_hub import constants, errors

    if isinstance(error, errors.GatedRepoError):
        return (
            f"Model '{hub_id}' is gated: accept its conditions at {constants.ENDPOINT}/{hub_id}, then log in with "
            "`hf auth login` or set HF_TOKEN."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"Model '{hub_id}' has no revision '{revision}' on the hub; name another one, or none for the newest."
    response = getattr(error, "response", None)  # strangers get a 401, so that private models stay unknown
    if isinstance(error, errors.RepositoryNotFoundError) or getattr(response, "status_code", None) == 401:
        return (
            f"There is no model '{hub_id}' on the hub, or it is private; check the name, or log in with "
            "`hf auth login`, or use `backbone=minilm`."
        )
    if isinstance(error, errors.LocalEntryNotFoundError) and constants.is_offline_mode():
        return (
            f"Backbone '{hub_id}' is not on this machine, and HF_HUB_OFFLINE forbids to ask the hub; unset it, or use "
            "`backbone=minilm`."
        )
    return (
        f"Backbone '{hub_id}' is neither a folder here nor available from the hub ({reason(error)}); "
        "check the name and the connection, or use `backbone=minilm`."
    )
