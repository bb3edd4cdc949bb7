from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hybridal.backbones import Backbone, load_backbone
from hybridal.backbones.sentence_files import MODULES, PROMPTS, read_pooling, read_prefix
from hybridal.errors import UserError
from hybridal.testing.small import toy_task


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path.parent


@pytest.mark.parametrize(
    ("prompts", "prefix"),
    [
        ({}, None),
        ({"prompts": None}, None),
        ({"prompts": {"query": "find: ", "document": ""}, "default_prompt_name": None}, None),
        ({"prompts": {"query": "find: ", "document": ""}, "default_prompt_name": "query"}, "find: "),
        ({"prompts": {"query": "find: ", "document": ""}, "default_prompt_name": "document"}, ""),
        ({"prompts": {"query": "find: ", "Classification": "classify: "}}, "classify: "),
        ({"prompts": {"query": "find: ", "classification": "classify: "}, "default_prompt_name": "query"}, "find: "),
    ],
)
def test_the_default_prompt_is_the_prefix_or_the_one_for_classification(
    prompts: dict[str, Any], prefix: str | None, tmp_path: Path
) -> None:
    assert read_prefix(write(tmp_path / PROMPTS, prompts)) == prefix


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"prompts": ["query: "]}, "`prompts` does not map names to texts"),
        ({"prompts": {"query": 1}}, "`prompts` does not map names to texts"),
        ({"prompts": {}, "default_prompt_name": "query"}, "there is no prompt 'query', its `default_prompt_name`"),
        ({"default_prompt_name": ["query"]}, "there is no prompt"),
        ("{", "not valid JSON"),
        ([], "does not hold a JSON object"),
    ],
)
def test_damaged_prompts_are_refused(content: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"{PROMPTS} is damaged: .*{why}.*; copy or save it again"):
        read_prefix(write(tmp_path / PROMPTS, content))


def test_prompts_of_a_folder_count_more_than_the_catalogue(tmp_path: Path) -> None:
    folder = shutil.copytree(load_backbone("tiny", toy_task()).folder, tmp_path / "encoder")
    assert [Backbone(name, folder).prefix for name in ("e5-small", "intfloat/e5-small-v2@main", "mine")] == [
        "query: ", "query: ", "",
    ]  # fmt: skip
    write(folder / PROMPTS, {"prompts": {"any": "team: "}, "default_prompt_name": "any"})
    assert {Backbone(name, folder).prefix for name in ("e5-small", "mine")} == {"team: "}
    write(folder / PROMPTS, {"prompts": {"any": ""}, "default_prompt_name": "any"})
    assert Backbone("e5-small", folder).prefix == ""


def test_an_exported_model_has_its_prefix_in_the_tokenizer(tmp_path: Path) -> None:
    folder = shutil.copytree(load_backbone("tiny", toy_task()).folder, tmp_path / "e5-small")
    write(folder / "hybridal.json", {"pooling": "mean"})
    assert Backbone("e5-small", folder).prefix == ""


def test_pooling_is_in_the_folder_that_the_modules_name(tmp_path: Path) -> None:
    kind = "sentence_transformers.models"
    modules = [{"path": "", "type": f"{kind}.Transformer"}, {"path": "3_Pool", "type": f"{kind}.Pooling"}]
    write(tmp_path / MODULES, modules)
    write(tmp_path / "3_Pool" / "config.json", {"pooling_mode_mean_tokens": True})
    write(tmp_path / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    assert read_pooling(tmp_path, "mine") == "mean"
    write(tmp_path / MODULES, modules[:1])
    assert read_pooling(tmp_path, "mine") == "first"


@pytest.mark.parametrize("path", ["../other", "/etc", "a/b", 3, ".."])
def test_a_pooling_outside_the_folder_is_refused(path: Any, tmp_path: Path) -> None:
    write(tmp_path / MODULES, [{"path": path, "type": "sentence_transformers.models.Pooling"}])
    with pytest.raises(UserError, match=r"modules\.json: the pooling lies outside the model's folder"):
        read_pooling(tmp_path, "mine")


def test_damaged_modules_are_refused(tmp_path: Path) -> None:
    write(tmp_path / MODULES, "[")
    with pytest.raises(UserError, match=r"modules\.json is damaged .*; copy or save it again"):
        read_pooling(tmp_path, "mine")


@pytest.mark.parametrize(("mode", "pooling"), [("mean", "mean"), (["mean"], "mean"), ("cls", "first")])
def test_pooling_by_name_as_newer_files_have_it(mode: Any, pooling: str, tmp_path: Path) -> None:
    write(tmp_path / "1_Pooling" / "config.json", {"embedding_dimension": 64, "pooling_mode": mode})
    assert read_pooling(tmp_path, "mine") == pooling


@pytest.mark.parametrize(("mode", "words"), [("lasttoken", "lasttoken"), (["cls", "mean"], "cls and mean")])
def test_other_pooling_by_name_is_refused(mode: Any, words: str, tmp_path: Path) -> None:
    write(tmp_path / "1_Pooling" / "config.json", {"embedding_dimension": 64, "pooling_mode": mode})
    with pytest.raises(UserError, match=rf"a pooling of {words} .*, which hybridal lacks; choose `pooling=mean`"):
        read_pooling(tmp_path, "mine")
