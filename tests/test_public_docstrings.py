"""The docstrings of public names describe their arguments and fields, and show an example."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_origin

import pytest

import hybridal

# Names whose packages have not been documented in this form yet.
PENDING = {
    "ActiveLearner",
    "Batch",
    "EstimatorLearner",
    "Query",
    "Split",
    "Task",
    "TaskSource",
    "TeachResult",
    "TextClassifier",
    "load_task",
}
DOCUMENTED = [name for name in hybridal.__all__ if name not in PENDING and get_origin(getattr(hybridal, name)) is None]


def parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def public_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods that the class introduces; an override has the arguments of the method that it overrides."""
    inherited = {name for base in cls.__mro__[1:] for name in vars(base)}
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function) and not name.startswith("_") and name not in inherited:
            yield name, function


def undocumented(names: list[str], docstring: str | None) -> list[str]:
    return [name for name in names if f"\n    {name}: " not in inspect.cleandoc(docstring or "")]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(hybridal, name).__doc__ or "")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_all_arguments_and_fields_are_described(name: str) -> None:
    public = getattr(hybridal, name)
    if not inspect.isclass(public):
        assert not undocumented(parameters(public), public.__doc__)
        return
    if is_dataclass(public):
        assert not undocumented([field.name for field in fields(public)], public.__doc__)
    missing = {
        method: lacking
        for method, function in public_methods(public)
        if (lacking := undocumented(parameters(function), function.__doc__))
    }
    assert not missing
