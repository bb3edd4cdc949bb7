from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybridal.errors import RunError
from hybridal.system.journal import Journal

FACTS: list[dict[str, Any]] = [
    {"round": 1, "ids": ["a", "b\nc"]},
    {"round": 2, "größe": 0.1 + 0.2},
    {"round": 3, "none": None},
]
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "records.jsonl")
    for record in FACTS:
        journal.append(record)
    return journal


def test_facts_come_back_in_order(journal: Journal) -> None:
    assert journal.read() == FACTS
    assert [json.loads(line) for line in journal.path.read_text(encoding="utf-8").splitlines()] == FACTS


def test_a_journal_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert Journal(tmp_path / "records.jsonl").read() == []


def test_a_file_cut_anywhere_loses_its_last_line_at_most(journal: Journal) -> None:
    whole = journal.path.read_bytes()
    for size in range(len(whole) + 1):
        journal.path.write_bytes(whole[:size])
        kept = FACTS[: whole[:size].count(b"\n")]
        assert journal.read() == kept
        journal.append({"after": size})
        assert journal.read() == [*kept, {"after": size}]
        assert journal.path.read_bytes().endswith(b"\n")


def test_a_long_incomplete_line_is_removed_entirely(journal: Journal) -> None:
    whole = journal.path.read_bytes()
    for length in (65535, 65536, 65537, 200_000):
        journal.path.write_bytes(whole + b"x" * length)
        assert journal.read() == FACTS
        journal.append({"after": length})
        assert journal.read() == [*FACTS, {"after": length}]
    journal.path.write_bytes(b"x" * 200_000)
    assert journal.read() == []
    journal.append({"first": True})
    assert journal.read() == [{"first": True}]


def half_a_write() -> Callable[[int, bytes], int]:
    """Writes half of what it gets, then finds the disk full."""
    real, calls = os.write, [0]

    def write(descriptor: int, data: bytes) -> int:
        calls[0] += 1
        if calls[0] > 1:
            raise FULL
        return real(descriptor, data[: len(data) // 2])

    return write


def full(*_arguments: object) -> int:
    raise FULL


@pytest.mark.parametrize(("step", "make"), [("write", half_a_write), ("write", lambda: full), ("fsync", lambda: full)])
def test_a_full_disk_leaves_the_file_as_it_was(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, step: str, make: Callable[[], Callable[..., int]]
) -> None:
    before = journal.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, make())
        with pytest.raises(RunError, match=r"records.jsonl could not be written \(No space left on device\)"):
            journal.append({"round": 4, "text": "x" * 100})
    assert journal.path.read_bytes() == before
    journal.append({"round": 4})
    assert journal.read() == [*FACTS, {"round": 4}]


def test_short_writes_are_continued(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
        journal.append({"round": 4})
    assert journal.read() == [*FACTS, {"round": 4}]


def test_deleted_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="could not be written"):
        Journal(tmp_path / "gone" / "records.jsonl").append({})


@pytest.mark.parametrize(
    "damage", [b"{", b"", b"\x00\x00\x00", b"\xff\xfe\xfd", b'{"round": 2} {"round": 3}', b"2", b"[]"]
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_damaged_line_is_named_by_its_number(journal: Journal, damage: bytes, number: int) -> None:
    lines = journal.path.read_bytes().split(b"\n")
    lines[number - 1] = damage
    journal.path.write_bytes(b"\n".join(lines))
    with pytest.raises(RunError, match=rf"Line {number} of .*records.jsonl is not JSON"):
        journal.read()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_value_is_refused_before_writing(journal: Journal, value: float) -> None:
    before = journal.path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"loss": value})
    assert journal.path.read_bytes() == before
