from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hybridal.backbones import load_backbone
from hybridal.runs.checks import check_backbone
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that was saved by transformers, which does not record a pooling."""
    folder = tmp_path_factory.mktemp("encoders") / "mine"
    shutil.copytree(load_backbone("tiny", toy_task()).folder, folder)
    return folder


def messages(backbone: str, protocol: str = "best", **overrides: str) -> list[str]:
    found: list[str] = []
    settings = Settings("toy", backbone=backbone, protocol=protocol, overrides={"max_length": 16, **overrides})
    check_backbone(settings, toy_task(), found.append, download=True)
    return found


def test_a_folder_that_does_not_state_its_pooling_is_reported(encoder: Path) -> None:
    told = messages(str(encoder))
    assert told == [
        f"Backbone '{encoder}' does not state its pooling (it has no 1_Pooling/config.json), so only the first token "
        "of a text is read; if it is a sentence encoder, choose `pooling=mean`."
    ]


def test_a_pooling_that_was_chosen_or_is_known_is_not_reported(encoder: Path, tmp_path: Path) -> None:
    assert messages(str(encoder), pooling="mean") == messages(str(encoder), "paper") == messages("tiny") == []
    folder = tmp_path / "stated"
    shutil.copytree(encoder, folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    assert messages(str(folder)) == []
