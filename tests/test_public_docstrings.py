"""The docstrings of public names describe their arguments and fields, and show an example."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_origin

import pytest

import hybridal
from hybridal import client

DOCUMENTED = [name for name in hybridal.__all__ if get_origin(getattr(hybridal, name)) is None]
# Classes whose methods users call; the others are protocols and records, whose examples show the whole class.
CALLED = [public for name in DOCUMENTED if inspect.isclass(public := getattr(hybridal, name))]
CALLED = [cls for cls in CALLED if cls.__module__.startswith(("hybridal.learners.", "hybridal.tasks."))]
CALLED += [getattr(client, name) for name in client.__all__]


def parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def public_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods that the class or a base of ours introduces; overrides have the arguments of what they override."""
    for place, base in enumerate(cls.__mro__):
        inherited = {name for other in cls.__mro__[place + 1 :] for name in vars(other)}
        for name, member in vars(base).items() if base.__module__.startswith("hybridal.") else ():
            function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inspect.isfunction(function) and not name.startswith("_") and name not in inherited:
                yield name, function


def gives_a_result(function: Callable[..., Any]) -> bool:
    return str(inspect.signature(function).return_annotation) != "None"


def raises(function: Callable[..., Any]) -> bool:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


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


@pytest.mark.parametrize("name", DOCUMENTED)
def test_results_and_errors_are_described(name: str) -> None:
    public = getattr(hybridal, name)
    functions = dict(public_methods(public)) if inspect.isclass(public) else {name: public}
    described = {part: function.__doc__ or "" for part, function in functions.items()}
    assert not [part for part, one in functions.items() if gives_a_result(one) and "Returns:" not in described[part]]
    assert not [part for part, one in functions.items() if raises(one) and "Raises:" not in described[part]]


@pytest.mark.parametrize("cls", CALLED)
def test_each_method_that_users_call_has_an_example_and_describes_its_result(cls: type) -> None:
    methods = dict(public_methods(cls))
    assert not [method for method, function in methods.items() if ">>> " not in (function.__doc__ or "")]
    giving = [function for function in methods.values() if gives_a_result(function)]
    assert not [function for function in giving if "Returns:" not in (function.__doc__ or "")]
    assert not [method for method, function in methods.items() if undocumented(parameters(function), function.__doc__)]
