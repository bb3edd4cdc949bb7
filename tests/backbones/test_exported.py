from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridal.backbones.exported import ABOUT, read_about, was_exported
from hybridal.errors import UserError

WHOLE: dict[str, Any] = {"pooling": "mean", "classes": ["ham", "spam"], "max_length": 64, "labels": "str"}


def test_all_fields_are_given(tmp_path: Path) -> None:
    (tmp_path / ABOUT).write_text(json.dumps({**WHOLE, "temperature": 1.5}))
    assert read_about(tmp_path) == {**WHOLE, "temperature": 1.5}
    assert was_exported(tmp_path)


@pytest.mark.parametrize("name", ["classes", "max_length"])
def test_a_field_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / ABOUT).write_text(json.dumps({key: value for key, value in WHOLE.items() if key != name}))
    with pytest.raises(UserError, match=rf"hybridal\.json is damaged: it has no `{name}`; .*export the model again"):
        read_about(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes", 3),
        ("classes", [1, 2]),
        ("max_length", "a"),
        ("max_length", -1),
        ("pooling", "max"),
        ("labels", "complex"),
        ("labels", [1]),
    ],
)
def test_a_field_of_another_kind_is_named(tmp_path: Path, name: str, value: Any) -> None:
    (tmp_path / ABOUT).write_text(json.dumps({**WHOLE, name: value}))
    with pytest.raises(UserError, match=rf"hybridal\.json is damaged: `{name}` must be "):
        read_about(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{broken", b"[1]", b"\xff\xfe\x00"])
def test_file_without_a_json_object_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ABOUT).write_bytes(content)
    for ask in (read_about, was_exported):
        with pytest.raises(UserError, match=r"hybridal\.json is damaged: it .*; copy or save it again"):
            ask(tmp_path)


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    assert not was_exported(tmp_path)
    with pytest.raises(UserError, match=r"is neither an exported model nor a run: it has no hybridal\.json"):
        read_about(tmp_path)
