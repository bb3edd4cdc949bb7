from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from hybridal.core.pool import Pool
from hybridal.core.rounds import Round
from hybridal.errors import RunError
from hybridal.loop.loop import State
from hybridal.runs import checkpoint
from hybridal.testing.schedule import fake_history

ODD = torch.tensor([0.1, -0.0, float("inf"), float("nan"), 1e-45])
FACTS = fake_history((), seed=1, rounds=5)


def state_after(round: int) -> State:
    """A bit of everything: odd floats, scalars, integers, slashes in names, views that are not contiguous."""
    rng = np.random.default_rng(round)
    pool = Pool.unlabelled(7).reveal({5: 1, 0: 0}).learnt().reveal({3: 2}).choose(np.array([6, 1]))
    wide = torch.from_numpy(rng.normal(size=(3, 4)).astype(np.float32))
    return State(
        round=round,
        update_sequence="R" * round,
        pool=pool,
        weights={"body/layer.weight": wide.T, "head.bias": ODD},
        moments={"exp_avg/head.bias": wide[0], "step/head.bias": torch.tensor(float(round))},
        snapshots={
            "accuracy": {"right": np.array(5), "n": np.array(9)},
            "cka": {"a/b": rng.normal(size=(2, 2)), "mean": rng.normal(size=2).astype(np.float32)[::-1]},
        },
    )


def exact(state: State, record: Round | None) -> Any:
    """All values of a state, bit for bit."""

    def bits(array: Any) -> tuple[str, tuple[int, ...], bytes]:
        values = np.ascontiguousarray(array.numpy() if isinstance(array, torch.Tensor) else array)
        return str(values.dtype), np.shape(array), values.tobytes()

    def all_bits(arrays: Any) -> Any:
        return None if arrays is None else {name: bits(array) for name, array in arrays.items()}

    pool = {name: bits(getattr(state.pool, name)) for name in ("labels", "order", "pending")}
    snapshots = {signal: all_bits(parts) for signal, parts in state.snapshots.items()}
    return (
        state.round, state.update_sequence, pool, state.pool.newest, all_bits(state.weights), all_bits(state.moments),
        snapshots, record,
    )  # fmt: skip


def loaded(folder: Path) -> Any:
    found = checkpoint.load(folder)
    assert found is not None
    return exact(*found)


BARE = State(0, "", Pool.unlabelled(4))


@pytest.mark.parametrize(
    ("state", "record"),
    [
        (state_after(3), FACTS[2]),
        (BARE, None),
        (replace(BARE, pool=Pool.unlabelled(0)), None),
        (replace(state_after(1), moments=None, snapshots={}), FACTS[0]),
    ],
    ids=["full", "before the first round", "no texts", "weights alone"],
)
def test_a_state_comes_back_bit_for_bit(tmp_path: Path, state: State, record: Round | None) -> None:
    checkpoint.save(tmp_path / "checkpoint", state, record)
    assert loaded(tmp_path / "checkpoint") == exact(state, record)


def test_missing_checkpoint_is_none(tmp_path: Path) -> None:
    assert checkpoint.load(tmp_path) is None
    assert checkpoint.load(tmp_path / "none") is None


def test_others_can_read_it_too(tmp_path: Path) -> None:
    assert checkpoint.save(tmp_path, state_after(1), None).stat().st_mode & 0o777 == 0o644


def test_only_the_newest_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".round-00002.safetensors.999").write_bytes(b"left by a process that was killed")
    (tmp_path / "notes.txt").write_text("not ours")
    for round in (1, 2, 3):
        saved = checkpoint.save(tmp_path, state_after(round), FACTS[round - 1])
        assert sorted(os.listdir(tmp_path)) == ["notes.txt", saved.name]
    assert loaded(tmp_path) == exact(state_after(3), FACTS[2])


def test_partial_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".tmpAbc123").write_bytes(b"half a file of safetensors")
    saved = checkpoint.save(tmp_path, state_after(1), FACTS[0])
    assert [*tmp_path.iterdir()] == [saved]


def test_going_back_to_an_earlier_round_replaces_the_later_one(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, state_after(4), FACTS[3])
    checkpoint.save(tmp_path, state_after(1), FACTS[0])
    assert loaded(tmp_path) == exact(state_after(1), FACTS[0])


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_process_that_ends_before_the_new_one_has_its_name_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    checkpoint.save(tmp_path, state_after(1), FACTS[0])

    def killed(*_arguments: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(os, step, killed)
        with pytest.raises(SystemExit):
            checkpoint.save(tmp_path, state_after(2), FACTS[1])
    assert loaded(tmp_path) == exact(state_after(1), FACTS[0])
    saved = checkpoint.save(tmp_path, state_after(2), FACTS[1])
    assert os.listdir(tmp_path) == [saved.name]


def test_a_process_that_ends_before_the_old_one_is_removed_leaves_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(tmp_path, state_after(1), FACTS[0])

    def killed(*_arguments: object, **_options: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(SystemExit):
            checkpoint.save(tmp_path, state_after(2), FACTS[1])
    assert len(os.listdir(tmp_path)) == 2
    assert loaded(tmp_path) == exact(state_after(2), FACTS[1])


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), safetensors.SafetensorError("No space left")]
)
def test_a_full_disk_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    checkpoint.save(tmp_path, state_after(1), FACTS[0])

    def full(_tensors: object, path: Path, _metadata: object) -> None:
        path.write_bytes(b"half")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.torch, "save_file", full)
        with pytest.raises(
            RunError, match=r"round-00002.safetensors could not be written \(.*No space left.*Make room"
        ):
            checkpoint.save(tmp_path, state_after(2), FACTS[1])
    assert os.listdir(tmp_path) == ["round-00001.safetensors"]
    assert loaded(tmp_path) == exact(state_after(1), FACTS[0])


DAMAGED = r"The checkpoint .*round-00003.safetensors is damaged .*all recorded rounds are safe.*--recompute"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return checkpoint.save(tmp_path, state_after(3), FACTS[2])


def test_no_flipped_byte_goes_unnoticed(saved: Path) -> None:
    whole = saved.read_bytes()
    expected = exact(state_after(3), FACTS[2])
    noticed = 0
    # F64 and I64, 2 and 3, "}" and "]" are one such flip apart.
    flips = [(place, (0x01, 0x0F, 0x20, 0x80)[place // 3 % 4]) for place in range(0, len(whole), 3)]
    for place, mask in flips:
        damaged = bytearray(whole)
        damaged[place] ^= mask
        saved.write_bytes(damaged)
        try:
            found = loaded(saved.parent)
        except RunError as error:
            assert "is damaged" in str(error)  # noqa: PT017
            noticed += 1
        else:
            assert found == expected, f"byte {place}: {whole[place]:#x} became {damaged[place]:#x}"
    assert noticed > len(flips) / 2


@pytest.mark.parametrize("part", ["round", "update_sequence", "newest", "record"])
def test_metadata_is_covered_by_the_checksum(saved: Path, part: str) -> None:
    tensors = safetensors.torch.load_file(saved)
    with safetensors.safe_open(saved, framework="pt") as file:
        metadata = dict(file.metadata())
    about = json.loads(metadata["about"])
    about[part] = {"round": 4, "update_sequence": "RRF", "newest": 2, "record": None}[part]
    safetensors.torch.save_file(tensors, saved, {**metadata, "about": json.dumps(about)})
    with pytest.raises(RunError, match=DAMAGED):
        checkpoint.load(saved.parent)


@pytest.mark.parametrize("kind", ["shape", "dtype"])
def test_the_same_bytes_in_another_form_are_noticed(saved: Path, kind: str) -> None:
    tensors = safetensors.torch.load_file(saved)
    with safetensors.safe_open(saved, framework="pt") as file:
        metadata = dict(file.metadata())
    weights = tensors["weights/body/layer.weight"]
    other = weights.reshape(-1) if kind == "shape" else weights.view(torch.int32)
    safetensors.torch.save_file({**tensors, "weights/body/layer.weight": other}, saved, metadata)
    with pytest.raises(RunError, match=DAMAGED):
        checkpoint.load(saved.parent)


def test_a_cut_file_is_named(saved: Path) -> None:
    whole = saved.read_bytes()
    for size in (0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:size])
        with pytest.raises(RunError, match=DAMAGED):
            checkpoint.load(saved.parent)


@pytest.mark.parametrize("missing", [None, "about", "sha256"])
def test_a_file_of_tensors_that_is_no_checkpoint(saved: Path, missing: str | None) -> None:
    tensors = safetensors.torch.load_file(saved)
    with safetensors.safe_open(saved, framework="pt") as file:
        metadata = {name: text for name, text in file.metadata().items() if name != missing}
    safetensors.torch.save_file(tensors, saved, metadata if missing else None)
    with pytest.raises(RunError, match=DAMAGED):
        checkpoint.load(saved.parent)


def test_folder_in_place_of_the_checkpoint_is_refused(saved: Path) -> None:
    saved.unlink()
    saved.mkdir()
    with pytest.raises(RunError, match=DAMAGED):
        checkpoint.load(saved.parent)
