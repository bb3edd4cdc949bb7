"""The settings of a run, from the command line, a YAML file, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hybridal.core.rules import Rules, protocol
from hybridal.core.task_source import LATER_FIELDS, TaskSource
from hybridal.errors import UserError
from hybridal.registry import hint_or_list

# Use all labelled validation texts of a task: they cost no further labels.
USE_ALL_VALIDATION: Mapping[str, Any] = {"validation": "fixed", "validation_size": None}


@dataclass(frozen=True)
class Settings(TaskSource):
    """The settings of a run.

    Attributes:
        backbone: Name, folder or hub id of the pretrained encoder; `auto` lets the labels choose among those available
            by default, `auto:minilm,my-folder` among these.
        protocol: "best", "paper", "reference" or "quick".
        overrides: Fields of the protocol to change.
        schedule: Decides in each round whether to retrain or to fine-tune.
        acquisition: Chooses the texts to label; None takes the one of the protocol.
        signals: Signals to record in addition to those of the schedule.
        seed: Seed of all random choices.
        device: "auto", "cpu", "cuda", "cuda:N" or "mps".
        labels: File in which people enter the labels; None simulates labelling.
        annotator: A model that labels, together with people: `llm`, or an annotator of another package.
        llm: Arguments of `LlmAnnotator`, if it labels.
        overlap: The share of the model's texts that people label too; None takes a tenth.
        label_price: What a label by people costs, in the currency of the model's price; for a forecast in money.
        test_every_round: Evaluate on the test texts in each round, not only in the last.
        stop: "auto" stops when more labels would hardly help.
        tracker: Also log the metrics of each round there.

    >>> Settings("imdb", overrides={"rounds": 3}).rules.rounds, DEMO.schedule
    (3, 'auto')
    """

    backbone: str = "auto"
    protocol: str = "best"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    schedule: str = "auto"
    acquisition: str | None = None
    signals: tuple[str, ...] = ()
    seed: int = 42
    device: str = "auto"
    labels: str | None = None
    annotator: str | None = None
    llm: Mapping[str, Any] = field(default_factory=dict)
    overlap: float | None = None
    label_price: float | None = None
    test_every_round: bool = False
    stop: str = "never"
    tracker: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop not in ("auto", "never"):
            raise UserError(f"The setting 'stop' must be auto or never, not {self.stop!r}.", field="stop")
        if self.overlap is not None and not (isinstance(self.overlap, int | float) and 0 <= self.overlap <= 1):
            wrong = f"must be a share from 0 to 1, not {self.overlap!r}"
            raise UserError(f"The setting 'overlap' {wrong}.", field="overlap")
        if self.label_price is not None and not (isinstance(self.label_price, int | float) and self.label_price > 0):
            wrong = f"must be the price of a label by people, above 0, not {self.label_price!r}"
            raise UserError(f"The setting 'label_price' {wrong}.", field="label_price")

    @cached_property  # used in many places, and validating each field takes time
    def rules(self) -> Rules:
        """The protocol with its overrides; explicitly requested validation texts are used with every protocol."""
        requested = self.validation is not None or self.validation_size is not None
        return protocol(self.protocol, {**(USE_ALL_VALIDATION if requested else {}), **self.overrides})

    @property
    def acquisition_spec(self) -> str:
        """The acquisition, or the default of the protocol."""
        return default_acquisition(self.protocol) if self.acquisition is None else self.acquisition

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON, with the acquisition by name: the default of a protocol may change."""
        written = {**asdict(self), "acquisition": self.acquisition_spec}
        if self.annotator is None:
            for name in ("annotator", "llm", "overlap", "label_price"):
                del written[name]
        return {name: value for name, value in written.items() if name not in LATER_FIELDS or value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """Make settings from a mapping; refuse unknown names."""
        known = {item.name for item in fields(cls)}
        for name in data:
            if name not in known and name in Rules.__dataclass_fields__:
                raise UserError(f"'{name}' is a field of the protocol; write it under `overrides`.")
            if name not in known:
                raise UserError(f"'{name}' is not a setting; {hint_or_list(str(name), sorted(known))}")
        if "task" not in data:
            raise UserError("The setting 'task' is missing; name a task or a file.", field="task")
        values = dict(data)
        for name in ("classes", "signals", "label"):
            if isinstance(values.get(name), list):
                values[name] = tuple(_name(name, item) for item in values[name])
        return cls(**values)

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """Return changed settings; `overrides` and `llm` are merged."""
        merged = {name: {**getattr(self, name), **changes.get(name, {})} for name in ("overrides", "llm")}
        return replace(self, **{**changes, **merged})


def default_acquisition(protocol: str) -> str:
    """Return the default acquisition of a protocol: the best one found (docs/findings.md), or the paper's.

    >>> default_acquisition("best"), default_acquisition("paper")
    ('margin', 'entropy')
    """
    return "margin" if protocol == "best" else "entropy"


def _name(field: str, item: Any) -> str:
    """Convert a list item of YAML to text; refuse yes and no, which YAML has converted to booleans."""
    if item is None or isinstance(item, bool):
        raise UserError(
            f"The setting '{field}' has {item} in its list: YAML takes yes, no, on, off, true, false and null for "
            "values; write such names in quotes.",
            field=field,
        )
    return str(item)


# Runs without the hub, in about two minutes on two cores.
DEMO = Settings(
    task="newsgroups",
    backbone="minilm",
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
    test_every_round=True,
)


def read_settings(path: Path) -> dict[str, Any]:
    """Read and validate the settings in a YAML file."""
    data = read_yaml(path)
    Settings.from_json({"task": DEMO.task, **data})
    return data


def read_yaml(path: Path) -> dict[str, Any]:
    """Read the `name: value` pairs of a YAML file."""
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
    """Find a name that occurs twice in a mapping, of which YAML would silently use the last."""
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
