from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertModel

from hybridal.backbones import tiny
from hybridal.backbones.text_encoder import TextEncoder
from hybridal.randomness import key
from hybridal.tasks import Split, Task
from hybridal.testing.small import toy_task

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def task_of(*texts: str) -> Task:
    rows = Split([str(row) for row in range(len(texts))], list(texts), np.zeros(len(texts), dtype=np.int64))
    return Task("made-up", ("no", "yes"), rows, Split.empty(), Split.empty())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def vocabulary(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    return found


def test_two_fresh_caches_hold_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name in ("one", "other"):
        monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path / name))
        torch.manual_seed(len(name))
        made.append(contents(tiny.folder(toy_task())))
    assert made[0] == made[1]
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= made[0].keys()


def test_tiny_has_the_weights_that_transformers_would_draw() -> None:
    loaded, report = BertModel.from_pretrained(tiny.folder(toy_task()), output_loading_info=True)
    assert not any(report.values()), report
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(0, "tiny"))
        drawn = BertModel(loaded.config).state_dict()
    assert drawn.keys() == loaded.state_dict().keys()
    assert all(torch.equal(value, drawn[name]) for name, value in loaded.state_dict().items())


def test_the_order_of_the_texts_decides_nothing() -> None:
    task = toy_task()
    backwards = tiny.folder(replace(task, train=task.train.take(np.arange(len(task.train))[::-1])))
    assert backwards != tiny.folder(task)
    assert contents(backwards) == contents(tiny.folder(task))


def test_tiny_is_built_once_for_the_same_texts() -> None:
    task = toy_task()
    first = tiny.folder(task)
    (first / "mark").touch()
    again = tiny.folder(replace(task, name="other", train=replace(task.train, labels=1 - task.train.labels)))
    assert again == first
    assert (again / "mark").exists()
    assert [path.name for path in first.parent.iterdir()] == [first.name]  # and no scratch folder stays


def test_another_text_gives_another_tiny() -> None:
    assert tiny.folder(task_of("a b")) != tiny.folder(task_of("a c"))


def test_the_global_generator_is_not_changed() -> None:
    before = torch.get_rng_state()
    tiny.folder(task_of("a b c"))
    assert torch.equal(before, torch.get_rng_state())


def test_characters_then_words_each_by_frequency_and_spelling() -> None:
    pieces = vocabulary(tiny.folder(task_of("bb aa bb", "Aa cd")))
    characters = ["a", "b", "c", "d"]
    expected = [*SPECIAL, *characters, *(f"##{c}" for c in characters), "aa", "bb", "cd"]
    assert sorted(pieces, key=pieces.__getitem__) == expected


def test_known_words_are_one_token_and_new_ones_their_characters() -> None:
    encoder = TextEncoder(tiny.folder(task_of("moon star", "star rat")), 16)
    pieces = vocabulary(encoder.folder)
    assert encoder.encode(["Star moon", "tar", "star 7"]) == [
        [2, pieces["star"], pieces["moon"], 3],
        [2, pieces["t"], pieces["##a"], pieces["##r"], 3],
        [2, pieces["star"], pieces["[UNK]"], 3],
    ]
    assert encoder.pad == pieces["[PAD]"] == 0


def test_a_rich_language_still_fits_the_embeddings() -> None:
    words = [f"word{number}" for number in range(tiny.VOCABULARY)]
    signs = [chr(0x1200 + number) * 2 for number in range(600)]
    pieces = vocabulary(tiny.folder(task_of(" ".join(words), " ".join(signs))))
    assert len(pieces) == tiny.VOCABULARY
    assert sorted(pieces.values()) == list(range(tiny.VOCABULARY))


def test_lone_surrogate_is_accepted() -> None:
    encoder = TextEncoder(tiny.folder(task_of("good \ud800 text", "bad")), 8)
    assert len(encoder.encode(["good \ud800"])[0]) == 4
