from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybridal import __version__
from hybridal.core.facts import Cost, Metrics, Round
from hybridal.runs.export import export_model
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

TASK = toy_task()
GOOD = Metrics(40, 36, 0.9, 0.85, 0.4, 0.1, 0.2, 0.35, 0.05)
SETTINGS = Settings("toy", backbone="tiny", schedule="fixed:3", seed=9, overrides={"max_length": 17})


class Writes:
    """A part of a model that writes one file."""

    pooling, loads_plainly = "mean", True

    def __init__(self, name: str, text: str = "") -> None:
        self.name, self.text = name, text

    def save(self, folder: Path, temperature: float = 1.0) -> None:
        (folder / self.name).write_text(self.text)


def fact_of(**changes: Any) -> Round:
    facts: dict[str, Any] = {
        "round": 3,
        "update": "finetune",
        "word": "RRF",
        "labels": 77,
        "cost": Cost(),
        "kept_epoch": 1,
        "temperature": 1.25,
        "validation": GOOD,
        "test": None,
        "changes": {},
        "acquired": (),
        "scores": (),
    }
    return Round(**{**facts, **changes})


Export = Callable[..., Path]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    def export(weights: Any = None, **changes: Any) -> Path:
        target = tmp_path / "model"
        export_model(
            weights or Writes("model.safetensors"), Writes("tokenizer.json"), TASK, SETTINGS, fact_of(**changes), target
        )
        return target

    return export


def test_everything_lies_in_one_folder(export: Export) -> None:
    folder = export()
    names = {"model.safetensors", "tokenizer.json", "hybridal.json", "README.md"}
    assert {path.name for path in folder.iterdir()} == names
    assert json.loads((folder / "hybridal.json").read_text()) == {
        "temperature": 1.25,
        "max_length": 17,
        "pooling": "mean",
        "classes": ["sport", "food"],
        "labels": "str",
        "hybridal": __version__,
    }
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_the_card_says_how_the_model_came_about(export: Export) -> None:
    card = (export(test=Metrics(30, 24, 0.8, 0.75, 0.5, 0.11, 0.3, 0.45, 0.06)) / "README.md").read_text()
    for said in (
        "`tiny`",
        "`fixed:3`",
        "seed 9",
        "77 labels",
        "round 3 (update `finetune`)",
        "- sport\n- food",
        "a temperature of 1.250",
    ):
        assert said in card
    assert "| validation | 40 | 0.900 | 0.850 | 0.400 | 0.350 | 0.100 | 0.050 |\n" in card
    assert "| test | 30 | 0.800 | 0.750 | 0.500 | 0.450 | 0.110 | 0.060 |\n" in card
    assert card.startswith("---\nlibrary_name: transformers\n")


def test_what_was_not_measured_is_not_said(export: Export) -> None:
    folder = export(temperature=None, validation=None)
    card = (folder / "README.md").read_text()
    assert "temperature" not in card
    assert "| validation" not in card
    assert "| test" not in card
    assert json.loads((folder / "hybridal.json").read_text())["temperature"] is None


def test_a_newer_export_takes_the_place_of_the_older(export: Export) -> None:
    (export(Writes("model.safetensors", "old")) / "stray").touch()
    folder = export(Writes("model.safetensors", "new"))
    assert (folder / "model.safetensors").read_text() == "new"
    assert not (folder / "stray").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_an_export_that_fails_leaves_the_older_one(export: Export) -> None:
    class Full:
        def save(self, folder: Path, temperature: float) -> None:
            (folder / "model.safetensors").write_text("half")
            raise OSError("No space left on device")

    folder = export(Writes("model.safetensors", "old"))
    with pytest.raises(OSError, match="No space left"):
        export(Full())
    assert (folder / "model.safetensors").read_text() == "old"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_the_card_says_when_code_must_be_trusted(export: Export) -> None:
    parts = Writes("model.safetensors")
    assert "trust_remote_code" not in (export(parts) / "README.md").read_text()
    parts.loads_plainly = False
    assert "trust_remote_code=True" in (export(parts) / "README.md").read_text()
