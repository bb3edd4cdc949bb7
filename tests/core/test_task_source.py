from __future__ import annotations

from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import pytest

from hybridal.core.task_source import LATER_FIELDS, TaskSource, source_of
from hybridal.errors import UserError
from hybridal.runs.settings import Settings

NAMES = [field.name for field in fields(TaskSource)]


def test_a_program_may_give_paths_and_any_sequence() -> None:
    found = source_of(Path("mail.csv"), validation=Path("v.csv"), classes=["ham", "spam"], max_words=3)
    assert found == TaskSource("mail.csv", validation="v.csv", classes=("ham", "spam"), max_words=3)
    assert source_of("mail.csv", classes={"b", "c", "a"}).classes == ("a", "b", "c")
    assert source_of("mail.csv", classes=range(2)).classes == ("0", "1")


def test_settings_contain_the_task_source_flat_and_return_it() -> None:
    settings = Settings("mail.csv", text="body", test_size=400.0, seed=7)
    assert settings.source == TaskSource("mail.csv", text="body", test_size=400.0)
    assert type(settings.source) is TaskSource
    given = [name for name in NAMES if name not in LATER_FIELDS]
    assert list(settings.to_json())[: len(given)] == given
    assert settings.source.key_values == [*settings.to_json().values()][: len(given)]
    several = Settings("mail.csv", multi_label=True, label_separator=";", descriptions="classes.json")
    assert list(several.to_json())[: len(NAMES)] == NAMES
    assert several.source.key_values == [*astuple(several.source)]


@pytest.mark.parametrize(
    ("size", "passed"), [(None, None), (0.25, 0.25), (1.0, 1), (120.0, 120), (0.0, 0.0), (1.5, 1.5)]
)
def test_sizes_are_counts_from_one_on_and_shares_below(size: float | None, passed: Any) -> None:
    options = TaskSource("x", validation_size=size, test_size=size).options
    assert [*options] == NAMES[1:]
    for name in ("validation_size", "test_size"):
        assert (options[name], type(options[name])) == (passed, type(passed))


@pytest.mark.parametrize(("name", "value"), [("classes", "ham"), ("max_words", 2.5), ("text", 3), ("test_size", "big")])
def test_a_value_of_the_wrong_kind_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"^The setting '{name}' must be .*, not .*\.$") as told:
        source_of("mail.csv", **{name: value})
    assert told.value.field == name


def test_pairs_of_texts_are_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"^`text` names several columns; pairs of texts are not supported: join"):
        source_of("mail.csv", text=["title", "body"])


def test_a_name_that_it_does_not_have_is_refused() -> None:
    with pytest.raises(UserError, match=r"^`txet` is not an option of a task; did you mean 'text'\?$") as told:
        source_of("mail.csv", txet="body")
    assert told.value.field == "txet"


@pytest.mark.parametrize("name", ["task", "validation", "test", "label", "labels", "backbone"])
def test_a_nul_character_is_refused_by_name(name: str) -> None:
    given: dict[str, Any] = {"task": "mail.csv", name: "a\0b.csv"}
    with pytest.raises(UserError, match=rf"^The setting '{name}' contains a NUL character; remove it\.$") as told:
        Settings(**given)
    assert told.value.field == name
