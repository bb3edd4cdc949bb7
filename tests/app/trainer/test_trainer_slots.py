from __future__ import annotations

import os

import pytest

from hybridal.app.trainer import trainer_slots as module
from hybridal.app.trainer.trainer_slots import TrainerQueue, trainer_slots


def test_projects_take_turns_and_know_which_they_wait_for() -> None:
    turns, had = TrainerQueue([{"CUDA_VISIBLE_DEVICES": "0"}]), []
    for name in "abc":
        turns.join(name)
    for _ in range(7):
        [now] = [name for name in "abc" if turns.take(name) is not None]
        had.append(now)
        waiting = [name for name in "abc" if name != now]
        assert {name: turns.before(name)[0] for name in waiting} == dict.fromkeys(waiting, now)
        assert turns.crowded
        turns.leave(now)
        turns.join(now)  # it has more to do at once
    assert "".join(had) == "abcabca"


def test_each_slot_has_one_trainer_until_it_leaves() -> None:
    turns = TrainerQueue([{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}])
    for name in "abcd":
        turns.join(name)
        turns.join(name)  # twice is no second place in line
    assert [turns.take(name) for name in "abcd"] == [
        {"CUDA_VISIBLE_DEVICES": "0"},
        {"CUDA_VISIBLE_DEVICES": "1"},
        None,
        None,
    ]
    assert turns.before("d") == ["a", "b", "c"]
    turns.leave("c")  # it was closed while it waited
    turns.leave("b")
    assert not turns.crowded
    assert turns.take("d") == {"CUDA_VISIBLE_DEVICES": "1"}
    assert turns.before("d") == []


@pytest.mark.parametrize(
    ("gpus", "cores", "trainers", "expected"),
    [
        (None, 2, None, [("1", None)]),
        (None, 16, None, [("3", None)] * 4),
        (None, 4, 2, [("1", None)] * 2),
        ("0,3", 16, None, [("7", "0"), ("7", "3")]),
        ("-1", 16, 1, [("15", None)]),
    ],
)
def test_trainers_share_neither_cores_nor_gpus(
    gpus: str | None, cores: int, trainers: int | None, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus or "")
    found = trainer_slots(trainers)
    assert [(one["OMP_NUM_THREADS"], one.get("CUDA_VISIBLE_DEVICES")) for one in found] == expected
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert module._gpus() == [str(number) for number in range(len(module._gpus()))]
