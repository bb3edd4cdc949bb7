"""Load a backbone by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hybridal.backbones import hub_models, tiny, wheel_models
from hybridal.backbones.backbone import NESTED, Backbone
from hybridal.backbones.catalogue import CATALOGUE, Limits
from hybridal.errors import UserError
from hybridal.registry import did_you_mean
from hybridal.tasks.task import Task

HUB_IDS = {
    "distilbert": "distilbert/distilbert-base-uncased",
    "bert": "google-bert/bert-base-uncased",
    "roberta": "FacebookAI/roberta-base",
}

BACKBONE_NAMES = (*wheel_models.WHEEL_MODELS, "tiny", *HUB_IDS)


def load_backbone(name: str, task: Task, notify: Callable[[str], None] = lambda _: None) -> Backbone:
    """Load a backbone, downloading it if necessary.

    Args:
        name: `minilm`, `mpnet`, `tiny`, `distilbert`, `bert`, `roberta`, a folder, or a hub id.
        task: Used by `tiny` only, whose vocabulary is counted in the task's texts.
        notify: Receives a message about a download.

    Returns:
        The backbone.

    Raises:
        UserError: If there is no such backbone, or it cannot be downloaded.
    """
    if (here := local_backbone(name, task)) is not None:
        return here
    if name in wheel_models.WHEEL_MODELS:
        return Backbone(name, wheel_models.folder(name, notify))
    with _known_names_offered(name):
        return Backbone(name, hub_models.folder(HUB_IDS.get(name, name), notify))


def local_backbone(name: str, task: Task) -> Backbone | None:
    """Return the backbone if all its files are on this machine, else None."""
    if name in wheel_models.WHEEL_MODELS:
        return Backbone(name, wheel_models.cache(name)) if wheel_models.is_here(name) else None
    if name == "tiny":
        return Backbone(name, tiny.folder(task))
    folder = Path(name).expanduser()
    if folder.is_dir():
        nested = folder / NESTED
        is_nested = not (folder / "config.json").is_file() and (nested / "config.json").is_file()
        return Backbone(name, (nested if is_nested else folder).resolve())
    if name.startswith(("/", "./", "../", "~")) or Path(name).exists():  # hub ids do not look like paths
        raise UserError(f"Backbone '{name}' is not a folder; check the path, or name a backbone.", field="backbone")
    cached = hub_models.cached(HUB_IDS.get(name, name))
    return None if cached is None else Backbone(name, cached)


def remote_limits(name: str) -> Limits:
    """Return the limits of a backbone without downloading its weights.

    Raises:
        UserError: If there is no such backbone; for a hub id, `config.json` is downloaded.
    """
    if name in CATALOGUE:
        return Limits(name, CATALOGUE[name].layers, CATALOGUE[name].positions)
    with _known_names_offered(name):
        return Backbone(name, hub_models.configuration(name)).limits


@contextmanager
def _known_names_offered(name: str) -> Iterator[None]:
    """Add to the hub's error the named backbone that was probably meant."""
    try:
        yield
    except UserError as error:
        if hint := did_you_mean(name, BACKBONE_NAMES):
            raise UserError(f"{str(error).rstrip('.')} ({hint})", field=error.field) from error
        raise
