from __future__ import annotations

import io

import pytest
from fastapi import UploadFile

from hybridal.app.app_errors import MissingError
from hybridal.app.web import held_files
from hybridal.app.web.held_files import MAX_HELD, HeldFiles


def file(content: bytes = b"text") -> UploadFile:
    return UploadFile(io.BytesIO(content), filename="x.csv")


def test_a_file_is_kept_until_it_is_dropped() -> None:
    held = HeldFiles()
    token = held.hold(file(b"words"), person=3)
    path = held.find(token, 3).path
    assert (path.name, path.read_bytes()) == ("x.csv", b"words")
    with pytest.raises(MissingError):
        held.find(token, 4)
    held.drop(token)
    assert not path.parent.exists()
    with pytest.raises(MissingError, match="choose it again"):
        held.find(token, 3)


def test_only_the_newest_files_are_kept() -> None:
    held = HeldFiles()
    tokens = [held.hold(file(), 1) for _ in range(MAX_HELD + 2)]
    assert held.tokens() == tokens[2:]
    paths = [held.find(token, 1).path for token in tokens[2:]]
    held.close()
    assert (held.tokens(), [path.exists() for path in paths]) == ([], [False] * MAX_HELD)


def test_an_old_file_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldFiles()
    monkeypatch.setattr(held_files, "HELD_SECONDS", -1.0)
    token = held.hold(file(), 1)
    with pytest.raises(MissingError):
        held.find(token, 1)
    assert held.tokens() == []
