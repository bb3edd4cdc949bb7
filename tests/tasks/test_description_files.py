from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.runs.settings import Settings
from hybridal.tasks import Task, load_task
from hybridal.tasks.description_files import with_descriptions_from
from tests.tasks.conftest import Write

TASK = Task.from_texts(["Where is it?", "Who is it?"] * 20, ["LOC", "HUM"] * 20, name="questions")
EXPECTED = {"LOC": ("a place", "Where is Oslo?"), "HUM": ("a person",)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("classes.json", json.dumps({"LOC": ["a place", "Where is Oslo?"], "HUM": "a person"})),
        ("classes.yaml", "LOC:\n- a place\n- Where is Oslo?\nHUM: a person\n"),
        ("classes.YML", "{LOC: [a place, 'Where is Oslo?'], HUM: [a person]}"),
        ("classes.csv", "class,description\nLOC,a place\nHUM,a person\nLOC,Where is Oslo?\n"),
    ],
)
def test_every_format_gives_the_same_descriptions(name: str, content: str, write: Write) -> None:
    assert with_descriptions_from(TASK, write(name, content)).descriptions == EXPECTED


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "is not valid"),
        ("a.json", "[" * 100_000, "is not valid"),
        ("a.yaml", "a: [", "is not valid"),
        ("a.yaml", "!!python/object/apply:os.system [ls]", "is not valid"),
        ("a.json", b"\xff\xfe\x00", "is not valid"),
        ("a.json", '["LOC"]', "it holds a list; write a text or a list of texts for each class"),
        ("a.json", '{"loc": "a place"}', "'loc' is not a class of task 'questions'; its classes are HUM, LOC"),
        ("a.json", '{"LOC": ""}', "The description of class 'LOC' is ''; write words"),
        ("a.json", '{"LOC": 3}', "The description of class 'LOC' is 3; write words"),
        ("a.csv", "class,text\nLOC,a place\n", "there is no column 'description'"),
        ("a.txt", "LOC: a place", r"the extension '\.txt' is not known"),
    ],
)
def test_a_file_that_describes_nothing_is_named(name: str, content: str | bytes, message: str, write: Write) -> None:
    with pytest.raises(UserError, match=rf"^`descriptions`, .*{name}: .*{message}") as caught:
        with_descriptions_from(TASK, write(name, content))
    assert caught.value.field == "descriptions"


@pytest.mark.parametrize("name", ["gone.json", "gone.csv", "gone.yaml"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"^`descriptions`, .*{name}: .*check the path"):
        with_descriptions_from(TASK, tmp_path / name)


def test_descriptions_are_an_option_of_every_task(write: Write) -> None:
    texts = write("mail.csv", "text,kind\n" + "Hello,ham\nWIN,spam\n" * 20)
    path = write("classes.json", '{"spam": "unwanted mail"}')
    task = load_task(texts, label="kind", descriptions=path)
    assert task.descriptions == {"spam": ("unwanted mail",)}
    assert task.fingerprint != load_task(texts, label="kind").fingerprint


def test_keys_without_descriptions_stay_as_they_were() -> None:
    plain, described = Settings("mail.csv"), Settings("mail.csv", descriptions="classes.json")
    assert plain.source.key_values != described.source.key_values
    assert "descriptions" not in plain.to_json()
    assert Settings.from_json(described.to_json()).source == described.source
