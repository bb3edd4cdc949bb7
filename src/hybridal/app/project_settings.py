"""The settings of a project, with their defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import execute
from hybridal.app.db.schema import Setting
from hybridal.core.rules import PRESETS, protocol
from hybridal.errors import UserError
from hybridal.runs.settings import default_acquisition
from hybridal.schedules import make_schedule

DEFAULTS: Mapping[str, Any] = {
    "name": "texts",
    "guidelines": "",  # Markdown, shown with every text
    "key": "",  # drawn at creation; distinguishes the cookies of two projects on one host
    "budget": 800,
    "batch": 16,
    "validation_first": 10,
    "validation_share": 0.05,  # 50 of 800 with the first ten; more does not help (docs/findings.md)
    "random_labels": 0,  # validation labels that the page Results asked for; until there are as many, they come first
    "overlap": 0.0,  # share of the texts that several people label
    "overlap_people": 2,  # how many people label each of those
    "on_disagreement": "adjudication",
    "multi_label": False,  # whether a text may have several classes, or none; fixed at creation
    "consensus_per": "set",  # if it may: whether people must agree on whole sets, or each class is settled by itself
    "settled": -1,  # the row up to which a changed rule for disagreements was applied; -1: all
    "look_alikes": True,  # whether texts that are almost the same are asked once
    "grouped": -1,  # the newest row of the texts whose look-alikes are known
    "lease_seconds": 600,
    "show_predictions": False,
    "preselect": False,  # if a text may have several classes: whether suggested and predicted ones are chosen already
    "open_classes": True,
    "page_language": "",  # of people who have not chosen one; "": that of their browser
    "newcomers": "annotator",  # role of a new person whom a proxy signed in
    "backbone": "minilm",  # of a project that records none; new ones record `auto` or another
    "schedule": "auto",
    "protocol": "best",
    # The app sets validation texts aside itself, and its first model, a probe, needs ten labels.
    "overrides": {"validation": "fixed", "validation_size": None, "initial": 10},
    "acquisition": "margin",  # another protocol has its own default
    "device": "auto",
    "seed": 42,
    "columns": [],  # other columns of the files
    "llm": {},
    "prices": {},  # what labels by people and by the language model cost
}

_AT_LEAST = {"budget": 1, "batch": 1, "validation_first": 0, "overlap_people": 2, "lease_seconds": 10}
_SHARES = {"validation_share": 0.5, "overlap": 1.0}
_CHOICES = {
    "on_disagreement": ("adjudication", "majority"),
    "consensus_per": ("set", "class"),
    "newcomers": ("annotator", "reviewer", "none"),
    "protocol": tuple(PRESETS),
}


_LANGUAGE = re.compile(r"([a-z]{2,3}(-[A-Za-z]{2,4})?)?")
_DECIDED = select(Setting.name, Setting.value)


def read(session: Session) -> dict[str, Any]:
    """Read all settings; those that were not changed have their defaults."""
    decided = {row.name: row.value for row in execute(session, _DECIDED)}
    usual = default_acquisition(decided.get("protocol", DEFAULTS["protocol"]))
    return {**DEFAULTS, "acquisition": usual, **decided}


def first_batch(decided: Mapping[str, Any]) -> int:
    """Return how many labels the first model waits for: a batch, unless the project says otherwise.

    >>> first_batch(DEFAULTS), first_batch({"batch": 16, "overrides": {}})
    (10, 16)
    """
    return int(decided["overrides"].get("initial", decided["batch"]))


def write(session: Session, changes: Mapping[str, Any]) -> None:
    """Change settings, if all of the new values are valid."""
    for name, value in changes.items():
        check(name, value)
    if {"protocol", "overrides"} & {*changes}:
        both = {**read(session), **changes}
        # Checks the rules. `candidates` must be at least a batch, and the app computes it itself, hence the batch of 1.
        protocol(both["protocol"], {"batch": 1, **both["overrides"]})
    for name, value in changes.items():
        session.merge(Setting(name=name, value=value))


def check(name: str, value: Any) -> None:
    """Refuse an unknown setting or an invalid value.

    >>> check("batch", 0)
    Traceback (most recent call last):
        ...
    hybridal.errors.UserError: The setting 'batch' must be at least 1, not 0.
    """
    if name not in DEFAULTS:
        raise UserError(f"'{name}' is not a setting; there are {', '.join(sorted(DEFAULTS))}.")
    kind = type(DEFAULTS[name])
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"The setting '{name}' must be {_WORDS[kind]}, not {value!r:.40}.")
    if name == "schedule":
        _check_schedule(str(value))
    if name == "page_language" and _LANGUAGE.fullmatch(str(value)) is None:
        raise UserError(f"The setting 'page_language' must be a code such as 'de', or empty, not '{value:.40}'.")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise UserError(f"The setting '{name}' must be one of {', '.join(_CHOICES[name])}, not '{value:.40}'.")
    if name in _AT_LEAST and not _AT_LEAST[name] <= value <= 1_000_000_000:
        raise UserError(f"The setting '{name}' must be at least {_AT_LEAST[name]}, not {value}.")
    if name in _SHARES and not 0 <= value <= _SHARES[name]:
        raise UserError(f"The setting '{name}' must be between 0 and {_SHARES[name]:g}, not {value}.")


def _check_schedule(spec: str) -> None:
    fixed = [signal.name for signal in make_schedule(spec).watches if signal.same_validation]
    if fixed:
        raise UserError(f"The signal {fixed[0]} compares the same validation texts, and here they grow; watch another.")


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a JSON object",
    list: "a list",
}
