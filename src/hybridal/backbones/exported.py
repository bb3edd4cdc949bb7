"""Read `hybridal.json`, which describes an exported model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hybridal.core.checked import matches_type, type_errors
from hybridal.errors import UserError
from hybridal.system.files import read_object

ABOUT = "hybridal.json"


@dataclass(frozen=True)
class _Fields:
    """The fields that `TextClassifier.load` needs."""

    pooling: Literal["mean", "first"]
    classes: tuple[str, ...]
    max_length: int
    labels: Literal["str", "bool", "int", "float"] = "str"
    thresholds: tuple[float, ...] | None = None
    labels_learnt: int | None = None


def was_exported(folder: Path) -> bool:
    """Return whether the folder has a classifier that hybridal exported with mean pooling."""
    about = folder / ABOUT
    return about.is_file() and read_object(about).get("pooling") == "mean"


def read_about(folder: Path) -> dict[str, Any]:
    """Read and validate `hybridal.json`.

    Args:
        folder: A folder that `TextClassifier.save`, `hybridal export` or a run wrote.

    Returns:
        All its fields.

    Raises:
        UserError: The file is missing or damaged.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / ABOUT).write_text('{"pooling": "mean", "classes": ["ham", "spam"], "max_length": 64}')
        >>> read_about(folder)["classes"]
        ['ham', 'spam']
    """
    path = folder / ABOUT
    if not path.is_file():
        raise UserError(f"{folder} is neither an exported model nor a run: it has no {ABOUT}; check the path.")
    about = read_object(path)
    if "pooling" not in about:
        raise UserError(f"{folder} was exported by an unpublished version of hybridal; export its run again.")
    known = {name: about[name] for name in _Fields.__dataclass_fields__ if name in about}
    try:
        wrong = [f"`{name}` {what}" for name, what in type_errors(_Fields(**known))]
    except TypeError:
        wrong = [f"it has no `{name}`" for name in ("classes", "max_length") if name not in about]
    if not wrong and not all(isinstance(name, str) for name in about["classes"]):
        wrong = ["`classes` must be texts"]
    if not wrong and about["max_length"] < 1:
        wrong = [f"`max_length` must be at least 1, not {about['max_length']}"]
    if not wrong and "thresholds" in about and not _are_thresholds(about["thresholds"], len(about["classes"])):
        wrong = ["`thresholds` must be a number from 0 to 1 for each class"]
    if wrong:
        raise UserError(f"{path} is damaged: {wrong[0]}; copy the folder or export the model again.")
    return about


def _are_thresholds(values: Any, classes: int) -> bool:
    """Whether these are as many probabilities as classes."""
    numbers = isinstance(values, list) and all(matches_type(value, float) for value in values)
    return numbers and len(values) == classes and all(0 <= value <= 1 for value in values)
