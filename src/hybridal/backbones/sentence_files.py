"""Read how an encoder was trained to be used from the files of sentence-transformers: pooling and prefix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hybridal.errors import UserError, reason
from hybridal.system.files import read_object

MODULES, PROMPTS = "modules.json", "config_sentence_transformers.json"
POOLING = "1_Pooling"
CONFIG = "config.json"

# Modes of pooling. Dividing by the square root of the length only scales, which our layer norm removes.
_POOLINGS = {
    (): "first",
    ("cls",): "first",
    ("cls_token",): "first",
    ("mean",): "mean",
    ("mean_tokens",): "mean",
    ("mean_sqrt_len_tokens",): "mean",
}
# The prompt for our purpose, if no default is named; the others are for search.
_CLASSIFICATION = "classification"


def read_pooling(home: Path, name: str) -> str | None:
    """Return the pooling that the encoder in a folder was trained with.

    Args:
        home: The folder, with `1_Pooling/config.json` or another folder that `modules.json` names.
        name: Name of the backbone, for the error.

    Returns:
        "mean" or "first"; None if there is no such file.

    Raises:
        UserError: If it was trained with a pooling that hybridal does not have.

    Example:
        >>> import tempfile
        >>> home = Path(tempfile.mkdtemp())
        >>> (home / "1_Pooling").mkdir()
        >>> _ = (home / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
        >>> read_pooling(home, "mine")
        'mean'
    """
    config = home / _pooling_folder(home) / CONFIG
    if not config.is_file():
        return None
    modes = _modes(read_object(config))
    if modes not in _POOLINGS:
        raise UserError(
            f"Backbone '{name}' was trained with a pooling of {' and '.join(modes)} ({config}), which hybridal lacks; "
            "choose `pooling=mean` or `pooling=first`, or another backbone.",
            field="protocol.pooling",
        )
    return _POOLINGS[modes]


def read_prefix(home: Path) -> str | None:
    """Return the prefix that the encoder in a folder wants before every text.

    That is the prompt which `config_sentence_transformers.json` names as the default, else the one called
    "classification". Other prompts are meant for search.

    Args:
        home: The folder.

    Returns:
        The prefix; None if the file has no such prompt.

    Raises:
        UserError: If the file is damaged.

    Example:
        >>> import tempfile
        >>> home = Path(tempfile.mkdtemp())
        >>> _ = (home / PROMPTS).write_text('{"prompts": {"classification": "classify: ", "query": "find: "}}')
        >>> read_prefix(home)
        'classify: '
    """
    path = home / PROMPTS
    if not path.is_file():
        return None
    config = read_object(path)
    prompts, default = config.get("prompts") or {}, config.get("default_prompt_name")
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise UserError(f"{path} is damaged: `prompts` does not map names to texts; copy or save it again.")
    if default is not None:
        if not isinstance(default, str) or default not in prompts:
            raise UserError(
                f"{path} is damaged: there is no prompt '{default!s:.40}', its `default_prompt_name`; copy or save it "
                "again."
            )
        return str(prompts[default])
    return next((prompt for name, prompt in prompts.items() if name.lower() == _CLASSIFICATION), None)


def _pooling_folder(home: Path) -> str:
    """Return the folder of the pooling module, relative to `home`."""
    path = home / MODULES
    if not path.is_file():
        return POOLING
    try:
        modules = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged ({reason(error)}); copy or save it again.") from error
    rows = modules if isinstance(modules, list) else []
    found = (row.get("path") for row in rows if isinstance(row, dict) and str(row.get("type")).endswith(".Pooling"))
    folder = next(found, POOLING)
    if not isinstance(folder, str) or folder != Path(folder).name or folder == "..":
        raise UserError(f"{path}: the pooling lies outside the model's folder, in '{folder!s:.80}'; copy it again.")
    return folder


def _modes(config: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the modes of pooling that are on; newer files have names instead of switches."""
    if (named := config.get("pooling_mode")) is not None:
        return tuple(map(str, named)) if isinstance(named, list) else (str(named),)
    start = "pooling_mode_"
    return tuple(name.removeprefix(start) for name, on in config.items() if name.startswith(start) and on is True)
