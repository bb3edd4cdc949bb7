from __future__ import annotations

from dataclasses import fields

import pytest
import typer

from hybridal.cli.options import RUN, Out, Quiet, RunOptions, given, names, overrides, with_run_options
from hybridal.core.task_source import TaskSource
from hybridal.errors import UserError


def test_zero_counts_as_given_and_false_does_not() -> None:
    found = given(seed=0, validation_size=0.0, text="", classes=(), quiet=False, task=None, calibrate=True)
    assert found == {"seed": 0, "validation_size": 0.0, "text": "", "classes": (), "calibrate": True}
    assert type(found["seed"]) is int


@pytest.mark.parametrize(
    ("text", "parts"), [(None, None), ("", ()), (" , ", ()), ("a", ("a",)), (" a, b c ,,d ", ("a", "b c", "d"))]
)
def test_names(text: str | None, parts: tuple[str, ...] | None) -> None:
    assert names(text) == parts


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("rounds=3", {"rounds": 3}),
        ("learning-rate=1e-4", {"learning_rate": 1e-4}),
        (" min_delta = 2.5e-3", {"min_delta": 0.0025}),
        ("stop_after=null", {"stop_after": None}),
        ("calibrate=true", {"calibrate": True}),
        ("dropout=finetune", {"dropout": "finetune"}),
        ("moments=a=b", {"moments": "a=b"}),
        ("candidates=", {"candidates": None}),
    ],
)
def test_a_field_as_in_yaml(pair: str, expected: dict[str, object]) -> None:
    found = overrides([pair])
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


def test_own_options_follow_the_shared_ones() -> None:
    assert overrides(["rounds=3", "batch=5"], rounds=4, initial=None, calibrate=False) == {"rounds": 4, "batch": 5}
    assert overrides(None) == {}


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [("rounds", "--set takes FIELD=VALUE, not 'rounds'."), ("a={", "--set a={: the value is not valid YAML; ")],
)
def test_value_without_an_equals_sign_is_refused(pair: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        overrides([pair])
    assert sentence in str(caught.value)


def test_command_gets_settings_and_its_own_options() -> None:
    found: list[object] = []

    @with_run_options(without=("labels", "epsilon"))
    def verb(asked: RunOptions, out: Out = None, quiet: Quiet = False) -> None:
        """Does it."""
        found.extend([asked, out, quiet])

    app = typer.Typer()
    app.command()(verb)
    command = typer.main.get_command(app)
    assert {param.name for param in command.params} >= {*RUN} - {"labels", "epsilon"}
    assert not {"labels", "epsilon"} & {param.name for param in command.params}
    line = "mail.csv --classes a,b --seed 0 --rounds 3 --set warmup=1e-1 --calibrate --patience 2 --quiet"
    command.main(line.split(), standalone_mode=False)
    settings = {"task": "mail.csv", "classes": ("a", "b"), "seed": 0}
    overrides = {"warmup": 0.1, "rounds": 3, "calibrate": True}
    assert found == [RunOptions({**settings, "overrides": overrides}, patience=2), None, True]


def test_every_field_of_a_task_source_is_an_option() -> None:
    described = [field.name for field in fields(TaskSource)]
    assert [name for name in RUN if name in described] == described
