"""What a user asks of a run: from the command line, a YAML file, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hybridal.core.rules import Rules, protocol
from hybridal.core.task_source import TaskSource
from hybridal.errors import UserError
from hybridal.registry import hint_or_list

# Validation texts with labels that are there are all measured on: they cost nothing more.
USE_ALL_VALIDATION: Mapping[str, Any] = {"validation": "fixed", "validation_size": None}


@dataclass(frozen=True)
class Settings(TaskSource):
    """One run, asked for: where its task comes from, and what is to be done with it.

    `overrides` replace fields of the protocol; without an `acquisition`, its own is taken; `signals` are watched and
    recorded beside the schedule's own; `labels` is a file to label in, by hand. With `stop` "auto" a run ends when more
    labels are not expected to make the model better. A `tracker` gets the figures of each round too.

    >>> Settings("imdb", overrides={"rounds": 3}).rules.rounds, DEMO.schedule
    (3, 'auto')
    """

    backbone: str = "minilm"
    protocol: str = "best"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    schedule: str = "auto"
    acquisition: str | None = None
    signals: tuple[str, ...] = ()
    seed: int = 42
    device: str = "auto"
    labels: str | None = None
    test_every_round: bool = False
    stop: str = "never"
    tracker: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop not in ("auto", "never"):
            raise UserError(f"The setting 'stop' must be auto or never, not {self.stop!r}.", field="stop")

    @cached_property  # asked for everywhere, and each of its fields is checked
    def rules(self) -> Rules:
        """The protocol with its overrides. Validation texts that were asked for are used, whatever it says of them."""
        asked = self.validation is not None or self.validation_size is not None
        return protocol(self.protocol, {**(USE_ALL_VALIDATION if asked else {}), **self.overrides})

    @property
    def acquisition_spec(self) -> str:
        """The acquisition that was asked for, or else that of the protocol."""
        return default_acquisition(self.protocol) if self.acquisition is None else self.acquisition

    def to_json(self) -> dict[str, Any]:
        """With the acquisition by its name: what a protocol takes may change, a run that has begun does not."""
        return {**asdict(self), "acquisition": self.acquisition_spec}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """Settings out of a mapping, refusing what it does not know."""
        known = {item.name for item in fields(cls)}
        for name in data:
            if name not in known and name in Rules.__dataclass_fields__:
                raise UserError(f"'{name}' is a field of the protocol; write it under `overrides`.")
            if name not in known:
                raise UserError(f"'{name}' is not a setting; {hint_or_list(str(name), sorted(known))}")
        values = dict(data)
        for name in ("classes", "signals"):
            if isinstance(values.get(name), list):
                values[name] = tuple(_name(name, item) for item in values[name])
        return cls(**values)

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """These settings with others laid over them; protocol overrides are merged."""
        merged = {**self.overrides, **changes.get("overrides", {})}
        return replace(self, **{**changes, "overrides": merged})


def default_acquisition(protocol: str) -> str:
    """What labels are chosen by where nobody says: under `best` what pays (docs/findings.md), else as in the paper.

    >>> default_acquisition("best"), default_acquisition("paper")
    ('margin', 'entropy')
    """
    return "margin" if protocol == "best" else "entropy"


def _name(field: str, item: Any) -> str:
    """A number may be a name; what was written as yes or no is neither by the time that it arrives here."""
    if item is None or isinstance(item, bool):
        raise UserError(
            f"The setting '{field}' has {item} in its list: YAML takes yes, no, on, off, true, false and null for "
            "values; write such names in quotes.",
            field=field,
        )
    return str(item)


# Runs on any machine, without a hub, and ends in about two minutes on two cores.
DEMO = Settings(
    task="newsgroups",
    classes=("comp.graphics", "rec.sport.hockey", "sci.space", "talk.politics.guns"),
    test_size=400,
    overrides={
        "initial": 24,
        "rounds": 8,
        "batch": 16,
        "candidates": 192,
        "max_length": 40,
        "min_steps": 60,
        "min_finetune_steps": 36,
    },
)


def read_settings(path: Path) -> dict[str, Any]:
    """The settings that a YAML file names."""
    data = read_yaml(path)
    Settings.from_json({"task": DEMO.task, **data})
    return data


def read_yaml(path: Path) -> dict[str, Any]:
    """The `name: value` pairs of a YAML file."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        data, twice = yaml.safe_load(text), _named_twice(yaml.compose(text))
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); name a YAML file.") from error
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} is not valid YAML: {reason}") from error
    if not isinstance(data, dict):
        raise UserError(f"{path} must hold `name: value` lines.")
    if twice:
        raise UserError(f"{path}, line {twice.start_mark.line + 1}: '{twice.value}' is named again; leave one out.")
    return data


def _named_twice(node: Any) -> Any:
    """A name that stands twice in one place, of which YAML would take the last and say nothing."""
    if node is None or node.id != "mapping":
        return None
    seen: set[str] = set()
    for name, value in node.value:
        if name.id == "scalar" and name.value in seen:
            return name
        seen.add(str(name.value))
        if (inside := _named_twice(value)) is not None:
            return inside
    return None
