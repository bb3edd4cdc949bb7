"""Check the values of a dataclass against the types of its fields."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hybridal.registry import did_you_mean

_DESCRIBED: Mapping[Any, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
    tuple: (Sequence, "a list like [one, other]"),
    Mapping: (Mapping, "names with their values"),
}


def type_errors(instance: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a dataclass instance whose value is of the wrong type, with a description.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Plan:
    ...     rounds: int
    ...     name: "str | None" = None
    >>> list(type_errors(Plan(2.5)))
    [('rounds', 'must be a whole number, not 2.5')]
    """
    cls: Any = type(instance)
    kinds = _kinds(cls)
    for field in fields(instance):
        value = getattr(instance, field.name)
        if not matches_type(value, kinds[field.name]):
            hint = did_you_mean(value, _choices(kinds[field.name])) if isinstance(value, str) else ""
            meant = f" ({hint})" if hint else ""
            yield field.name, f"must be {describe_type(kinds[field.name])}, not {value!r}{meant}"


def _choices(kind: Any) -> Sequence[str]:
    """The strings that a field of this type accepts."""
    if get_origin(kind) is UnionType:
        return [choice for one in get_args(kind) for choice in _choices(one)]
    return get_args(kind) if get_origin(kind) is Literal else ()


def matches_type(value: Any, kind: Any) -> bool:
    """Whether a value is of a type. Booleans are not numbers here, and numbers must be finite.

    >>> matches_type(3, float), matches_type(True, int), matches_type(float("nan"), float)
    (True, False, False)
    >>> matches_type("c", Literal["a", "b"]), matches_type(None, int | None)
    (False, True)
    """
    if get_origin(kind) is UnionType:
        return any(matches_type(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind is NoneType:
        return value is None
    wanted, _ = _DESCRIBED[get_origin(kind) or kind]
    if isinstance(value, bool):  # also an instance of int
        return wanted is bool
    if isinstance(value, str):  # also a sequence
        return wanted is str
    return isinstance(value, wanted) and not (isinstance(value, float) and not math.isfinite(value))


def describe_type(kind: Any) -> str:
    """Describe a type for an error message.

    >>> describe_type(int | None), describe_type(Literal["on", "off"]), describe_type(tuple[str, ...])
    ('a whole number or null', 'one of on, off', 'a list like [one, other]')
    """
    if get_origin(kind) is UnionType:
        return " or ".join(describe_type(one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return "null" if kind is NoneType else _DESCRIBED[get_origin(kind) or kind][1]


@cache
def _kinds(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)
