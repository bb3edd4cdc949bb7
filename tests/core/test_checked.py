from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from hybridal.core.checked import describe_type, matches_type, type_errors

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (bool, (True, False), (1, 0, "yes", None)),
        (int, (0, -3, np.int64(3)), (2.5, 3.0, True, "3", None, [3])),
        (float, (0, 2.5, np.float64(1)), (NAN, INFINITE, True, "2", None)),
        (str, ("", "a"), (3, None, ["a"], b"a")),
        (tuple[str, ...], ((), ["a"], ("a",), range(2)), ("a", {"a": 1}, None, 3)),
        (Mapping[str, Any], ({}, {"a": 1}), ([], "a", None)),
        (Literal["on", "off"], ("on",), ("other", "", None, 1, True, ["on"])),
        (int | None, (3, None), (2.5, "3", True)),
        (tuple[str, ...] | None, (None, []), ("a", {})),
    ],
)
def test_a_value_fits_its_kind(kind: Any, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    assert [matches_type(value, kind) for value in right] == [True] * len(right)
    assert [matches_type(value, kind) for value in wrong] == [False] * len(wrong)


def test_kinds_have_words() -> None:
    assert describe_type(float | None) == "a number or null"
    assert describe_type(Mapping[str, Any]) == "names with their values"


@dataclass
class Base:
    size: int


@dataclass
class Plan(Base):
    mode: Literal["on", "off"] = "on"
    names: tuple[str, ...] = ()


def test_fields_are_checked_base_class_first() -> None:
    assert list(type_errors(Plan(1))) == []
    assert list(type_errors(Plan("1", "of", "a"))) == [  # type: ignore[arg-type]
        ("size", "must be a whole number, not '1'"),
        ("mode", "must be one of on, off, not 'of' (did you mean 'off'?)"),
        ("names", "must be a list like [one, other], not 'a'"),
    ]
