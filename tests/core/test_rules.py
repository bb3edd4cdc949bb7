from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.rules import PRESETS, Rules, protocol
from hybridal.errors import UserError

WHOLE = ("initial", "rounds", "batch", "max_length", "train_batch", "max_epochs", "validations_per_epoch")
CHOICES = (
    "initial_draw", "dropout", "moments", "validation_loss", "newonly_round_1", "precision", "arithmetic", "pooling",
    "head", "temperature", "validation",
)  # fmt: skip
NAN, INFINITE = float("nan"), float("inf")

INVALID: list[tuple[str, Any]] = [
    *((name, value) for name in WHOLE for value in (0, -1, 2.5, 3.0, "three", None, True, NAN, [3])),
    *(
        (name, value)
        for name in ("candidates", "stop_after", "validation_size", "late_class")
        for value in (0, -1, 2.5, "many", True)
    ),
    *(("train_layers", value) for value in (-1, 2.5, "top", True)),
    *(
        (name, value)
        for name in ("min_steps", "min_finetune_steps", "probe_until")
        for value in (-1, 2.5, "few", None, True)
    ),
    *(("warmup", value) for value in (-0.1, 1.1, NAN, "short", None, True)),
    *(("validation_share", value) for value in (0, 1, -0.1, NAN, "some", None, True)),
    *(
        (name, value)
        for name in ("decay", "keep_start", "average", "use_class_descriptions")
        for value in ("yes", 1, None)
    ),
    ("candidates", 31),  # fewer than a batch of 32
    *(("learning_rate", value) for value in (0, -1e-5, NAN, INFINITE, "fast", None, True)),
    *((name, value) for name in ("weight_decay", "min_delta") for value in (-1e-9, NAN, INFINITE, "some", None, True)),
    *((name, value) for name in CHOICES for value in ("other", "", None, 1, True, ["on"])),
    *(("calibrate", value) for value in ("yes", 1, None)),
    *(("split_seed", value) for value in (1.5, "x", True)),
    *(("thresholds", value) for value in ("best", "", "cost", "cost:0", "cost:-1", "cost:inf", "half:2", None, 1, 0.5)),
]


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_invalid_rule_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"^Protocol: `{name}` .*\.$"):
        protocol("paper", {name: value})


def test_every_field_has_an_invalid_value_above() -> None:
    assert {name for name, _ in INVALID} == {field.name for field in fields(Rules)} - {"name"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 1) for name in WHOLE if name != "batch"),
        ("batch", 1000),
        ("candidates", 32),
        ("candidates", None),
        ("stop_after", 1),
        ("stop_after", None),
        ("learning_rate", 1),
        ("weight_decay", 0),
        ("min_delta", 0.0),
        ("min_steps", 0),
        ("min_finetune_steps", 0),
        ("calibrate", True),
        ("split_seed", None),
        ("split_seed", 0),
        ("dropout", "off"),
        ("initial_draw", "proportional"),
    ],
)
def test_boundary_values_are_accepted(name: str, value: Any) -> None:
    assert getattr(protocol("paper", {name: value}), name) == value


def test_a_number_that_yaml_reads_as_text_is_a_number() -> None:
    # YAML 1.1 knows 2.0e-5 but takes 2e-5 for text.
    assert protocol("paper", {"learning_rate": "2e-5"}).learning_rate == 2e-5


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("round", r"did you mean 'rounds'\?"),
        ("learning_rat", r"did you mean 'learning_rate'\?"),
        ("colour", "there are arithmetic, average, batch, calibrate, "),
        ("", "there are arithmetic, average, batch, calibrate, "),
    ],
)
def test_unknown_field_gets_a_suggestion_or_the_list(name: str, told: str) -> None:
    with pytest.raises(UserError, match=f"`{name}` is not a field of a protocol; {told}"):
        protocol("paper", {name: 3})


def test_unknown_protocol_gets_a_suggestion_or_the_list() -> None:
    with pytest.raises(UserError, match=r"no protocol named 'papper'; did you mean 'paper'\?"):
        protocol("papper")
    with pytest.raises(UserError, match="no protocol named 'x'; there are paper, reference, best, quick"):
        protocol("x")


def test_misspelt_value_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"one of .*, spread, random, not 'spred' \(did you mean 'spread'\?\)\.$"):
        protocol("paper", {"initial_draw": "spred"})


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_preset_has_its_name_and_survives_json(name: str) -> None:
    rules = protocol(name)
    assert rules.name == name
    written = json.loads(json.dumps(rules.to_json()))
    assert Rules(**written) == rules


def test_overrides_change_nothing_else() -> None:
    changed = asdict(protocol("reference", {"rounds": 3, "stop_after": None}))
    assert changed == asdict(PRESETS["reference"]) | {"rounds": 3, "stop_after": None}


SOME, FLOOR = st.integers(1, 40), st.integers(0, 300)


@given(st.integers(1, 200), SOME, st.none() | SOME, SOME, FLOOR, FLOOR)
def test_a_training_takes_no_more_epochs_than_its_floor_of_steps_asks_for(
    examples: int, batch: int, asked: int | None, max_epochs: int, min_steps: int, min_finetune_steps: int
) -> None:
    """Those of its update or of the protocol, and more one by one; an epoch's last step may have fewer examples."""
    numbers = {"max_epochs": max_epochs, "min_steps": min_steps, "min_finetune_steps": min_finetune_steps}
    epochs, least = (max_epochs, min_steps) if asked is None else (asked, min_finetune_steps)
    while epochs * len(range(0, examples, batch)) < least:
        epochs += 1
    assert protocol("paper", numbers).epochs(examples, batch, asked) == epochs
    assert protocol("paper", {**numbers, "train_batch": batch}).epochs(examples, asked=asked) == epochs


@pytest.mark.parametrize("asked", [None, 3])
def test_without_examples_there_is_no_epoch(asked: int | None) -> None:
    assert protocol("best").epochs(0, asked=asked) == 0


def test_only_best_has_floors_of_steps() -> None:
    floors = {name: (rules.min_steps, rules.min_finetune_steps) for name, rules in PRESETS.items()}
    assert floors == {"paper": (0, 0), "reference": (0, 0), "best": (160, 96), "quick": (0, 0)}


def test_paper_protocol_has_the_papers_values() -> None:
    """Section "Setup" of the paper, and the budget in the table of settings: 200 + 24 · 32 = 968 labels at the end."""
    rules = protocol("paper")
    assert rules.initial + (rules.rounds - 1) * rules.batch == 968
    assert (rules.learning_rate, rules.weight_decay, rules.train_batch) == (2e-5, 1e-3, 16)
    assert (rules.max_epochs, rules.stop_after, rules.min_delta, rules.max_length) == (10, 2, 1e-4, 128)
    assert (rules.dropout, rules.moments, rules.split_seed) == ("on", "fresh", 42)


def test_reference_protocol_has_the_published_codes_values() -> None:
    """The rows of the table of settings whose two columns differ; everything else is shared."""
    paper, reference = asdict(protocol("paper")), asdict(protocol("reference"))
    assert {name: reference[name] for name in paper if reference[name] != paper[name]} == {
        "name": "reference",
        "dropout": "finetune",
        "moments": "carry",
        "validation_loss": "batches",
        "newonly_round_1": "skip",
        "precision": "fp32",
        "split_seed": None,
    }
