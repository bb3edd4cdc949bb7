"""A study: factors that expand into cells, and schedules that run in each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from hybridal.core.checked import type_errors
from hybridal.core.rules import protocol
from hybridal.errors import UserError
from hybridal.registry import hint_or_list
from hybridal.runs.settings import Settings, default_acquisition, read_yaml
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json

Choice = Mapping[str, Any]

# Whose combinations are the cells.
FACTORS = ("tasks", "backbones", "acquisitions", "vary", "seeds")


@dataclass(frozen=True)
class CellPlan:
    """One cell: all that its schedules share. `variant` are the protocol fields in which cells of the study differ."""

    settings: Settings
    variant: Choice
    schedules: tuple[str, ...]

    @property
    def key(self) -> str:
        """A folder name: readable, and different for different cells."""
        asked = self.settings
        digest = hashlib.sha256(strict_json(asked.to_json()).encode()).hexdigest()[:8]
        parts = [Path(asked.task).stem, Path(asked.backbone).name, asked.acquisition_spec, *_spelt(self.variant)]
        name = "-".join([*parts, f"s{asked.seed}", digest])
        return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)

    @property
    def runs(self) -> int:
        return len(self.schedules)


@dataclass(frozen=True)
class Study:
    """Many runs that answer one question together.

    A task is a name, or a mapping with `task` and its columns. Without `acquisitions`, the protocol's own is taken.
    `vary` lists protocol overrides, one variant of every cell each; `overrides` hold for all. `signals` are recorded
    beside those that the schedules watch. With `test_every_round` the test texts are asked about in each round and not
    only at the end.

    >>> study = Study("tiny", tasks=("trec",), schedules=("retrain", "finetune"), seeds=(1, 2))
    >>> len(study.cells()), study.runs
    (2, 4)
    """

    name: str
    tasks: tuple[str | Choice, ...]
    schedules: tuple[str, ...]
    backbones: tuple[str, ...] = ("minilm",)
    acquisitions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (42, 43, 44, 45, 46)
    protocol: str = "best"
    overrides: Choice = field(default_factory=dict)
    vary: tuple[Choice, ...] = ({},)
    signals: tuple[str, ...] = ()
    device: str = "auto"
    test_every_round: bool = False

    def __post_init__(self) -> None:
        for name, wrong in type_errors(self):
            raise UserError(f"Study '{self.name}': `{name}` {wrong}.")
        for name in ("schedules", *FACTORS):
            if name != "acquisitions" and not getattr(self, name):
                raise UserError(f"Study '{self.name}': `{name}` is empty; name at least one.")
        self._check_distinct()
        for variant in self.vary:
            protocol(self.protocol, {**self.overrides, **variant})

    def _check_distinct(self) -> None:
        """Tables tell runs apart by these; a task is known by its name alone."""
        for name in FACTORS:
            values = list(getattr(self, name))
            if name == "tasks":
                values = [task if isinstance(task, str) else task.get("task") for task in values]
            for value in values:
                if values.count(value) > 1:
                    other = ", or copy its file under another name" if name == "tasks" else ""
                    raise UserError(f"Study '{self.name}': `{name}` has {value!r} twice; name it once{other}.")

    @property
    def acquisition_spec(self) -> tuple[str, ...]:
        """The acquisitions that were asked for, or else that of the protocol."""
        return self.acquisitions or (default_acquisition(self.protocol),)

    def cells(self) -> list[CellPlan]:
        """Every combination of the factors."""
        schedules = tuple(dict.fromkeys(make_schedule(spec).spec for spec in self.schedules))
        return [CellPlan(settings, variant, schedules) for settings, variant in self._settings()]

    def _settings(self) -> Iterator[tuple[Settings, Choice]]:
        factors = product(self.tasks, self.backbones, self.acquisition_spec, self.vary, self.seeds)
        for task, backbone, acquisition, variant, seed in factors:
            asked = {"task": task} if isinstance(task, str) else dict(task)
            yield (
                Settings.from_json(
                    {
                        **asked,
                        "backbone": backbone,
                        "acquisition": acquisition,
                        "protocol": self.protocol,
                        "overrides": {**self.overrides, **variant},
                        # No cell runs by it: `schedules` of the cell does. It is part of the hash in the cell's key.
                        "schedule": "retrain",
                        "signals": list(self.signals),
                        "seed": seed,
                        "device": self.device,
                        "test_every_round": self.test_every_round,
                    }
                ),
                variant,
            )

    @property
    def runs(self) -> int:
        return sum(cell.runs for cell in self.cells())

    def shrunk(self, **choices: Any) -> Study:
        """The study with some of its factors replaced; None keeps one. Overrides and `rounds` come on top."""
        given = {name: value for name, value in choices.items() if value is not None}
        rounds = {"rounds": given.pop("rounds")} if "rounds" in given else {}
        return replace(self, **{**given, "overrides": {**self.overrides, **rounds, **given.get("overrides", {})}})

    def to_json(self) -> dict[str, Any]:
        """With its acquisitions by name, as those of its cells are."""
        return {**asdict(self), "acquisitions": self.acquisition_spec}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Study:
        """A study out of a mapping, refusing what it does not know."""
        known = {item.name for item in fields(cls)}
        for name in data:
            if name not in known:
                raise UserError(f"'{name}' is not a field of a study; {hint_or_list(str(name), sorted(known))}")
        for name in ("tasks", "schedules"):
            if name not in data:
                raise UserError(f"The study names no `{name}`; add them.")
        values: dict[str, Any] = {"name": "study", **data}
        for name, value in data.items():
            values[name] = tuple(value) if isinstance(value, list) else value
        return cls(**values)


def read_study(path: Path) -> Study:
    """The study that a YAML file describes."""
    return Study.from_json({"name": path.stem, **read_yaml(path)})


def _spelt(variant: Choice) -> list[str]:
    return [f"{name}_{value}" for name, value in variant.items()]
