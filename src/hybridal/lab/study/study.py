"""A study: factors whose combinations are cells, and schedules that run in each cell."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from hybridal.annotators.team import OVERLAP
from hybridal.backbones.auto_candidates import candidate_names
from hybridal.core.checked import type_errors
from hybridal.core.rules import protocol
from hybridal.errors import UserError
from hybridal.registry import hint_or_list
from hybridal.runs.settings import Settings, default_acquisition, read_yaml
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json

Choice = Mapping[str, Any]

# The combinations of their values are the cells.
FACTORS = ("tasks", "backbones", "acquisitions", "annotators", "vary", "seeds")

PEOPLE = "people"


@dataclass(frozen=True)
class CellPlan:
    """One cell: the settings that its schedules share.

    Attributes:
        settings: Task, backbone, acquisition, protocol and seed.
        variant: The protocol fields in which cells of the study differ, and who labels if not people alone.
        schedules: The schedules that run in the cell.
    """

    settings: Settings
    variant: Choice
    schedules: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name of the cell's folder: readable, and different for different settings."""
        asked = self.settings
        digest = hashlib.sha256(strict_json(asked.to_json()).encode()).hexdigest()[:8]
        parts = [
            Path(asked.task).stem,
            *(Path(name).name for name in candidate_names(asked.backbone)),
            asked.acquisition_spec,
            *_variant_parts(self.variant),
        ]
        name = "-".join([*parts, f"s{asked.seed}", digest])
        return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)

    @property
    def runs(self) -> int:
        return len(self.schedules)


@dataclass(frozen=True)
class Study:
    """Many runs that answer one question together.

    Attributes:
        name: The name of the study and its folder.
        tasks: Task names, or mappings with `task` and its columns.
        schedules: The schedules to run in every cell.
        backbones: Pretrained encoders; `auto` or `auto:minilm,gte-small` lets the labels choose.
        acquisitions: By default that of the protocol.
        annotators: Who labels: `people`, a model that labels alone such as `simulated:0.2:class`, or both:
            `people+simulated:0.2:class`. Validation texts are labelled by people.
        seeds: One cell each.
        protocol: Named set of settings.
        overrides: Protocol fields to replace in all cells.
        vary: Protocol fields to replace, one variant of every cell each.
        signals: Signals to record in addition to those that the schedules watch.
        device: Where cells are computed.
        test_every_round: Evaluate on the test texts in every round, not only in the last.

    Raises:
        UserError: For a value of the wrong type, an empty factor, a duplicate, or an unknown protocol field.

    >>> study = Study("tiny", tasks=("trec",), schedules=("retrain", "finetune"), seeds=(1, 2))
    >>> len(study.cells()), study.runs
    (2, 4)
    """

    name: str
    tasks: tuple[str | Choice, ...]
    schedules: tuple[str, ...]
    backbones: tuple[str, ...] = ("minilm",)
    acquisitions: tuple[str, ...] = ()
    annotators: tuple[str, ...] = (PEOPLE,)
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
        """Refuse duplicates: tables identify runs by these values, and a task by its name."""
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
        """The requested acquisitions, or else that of the protocol."""
        return self.acquisitions or (default_acquisition(self.protocol),)

    def cells(self) -> list[CellPlan]:
        """Every combination of the factors."""
        schedules = tuple(dict.fromkeys(make_schedule(spec).spec for spec in self.schedules))
        return [CellPlan(settings, variant, schedules) for settings, variant in self._settings()]

    def _settings(self) -> Iterator[tuple[Settings, Choice]]:
        factors = product(self.tasks, self.backbones, self.acquisition_spec, self.annotators, self.vary, self.seeds)
        for task, backbone, acquisition, annotator, variant, seed in factors:
            asked = {"task": task} if isinstance(task, str) else dict(task)
            yield (
                Settings.from_json(
                    {
                        **asked,
                        "backbone": backbone,
                        "acquisition": acquisition,
                        "protocol": self.protocol,
                        "overrides": {**self.overrides, **variant},
                        # Placeholder: `CellPlan.schedules` counts. Removing it would change the keys of cells.
                        "schedule": "retrain",
                        "signals": list(self.signals),
                        "seed": seed,
                        "device": self.device,
                        "test_every_round": self.test_every_round,
                        **_who_labels(annotator),
                    }
                ),
                variant if annotator == PEOPLE else {**variant, "annotator": annotator},
            )

    @property
    def runs(self) -> int:
        return sum(cell.runs for cell in self.cells())

    def shrunk(self, **choices: Any) -> Study:
        """Return the study with some fields replaced; None keeps a field. Overrides and `rounds` are merged."""
        given = {name: value for name, value in choices.items() if value is not None}
        rounds = {"rounds": given.pop("rounds")} if "rounds" in given else {}
        return replace(self, **{**given, "overrides": {**self.overrides, **rounds, **given.get("overrides", {})}})

    def to_json(self) -> dict[str, Any]:
        """Return a mapping for JSON, with the acquisitions written out, as in the cells."""
        written = {**asdict(self), "acquisitions": self.acquisition_spec}
        if self.annotators == (PEOPLE,):
            del written["annotators"]
        return written

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Study:
        """Return the study that a mapping describes; unknown fields are refused."""
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
    """Return the study that a YAML file describes."""
    return Study.from_json({"name": path.stem, **read_yaml(path)})


def _who_labels(annotator: str) -> dict[str, Any]:
    """Return the settings of a value of `annotators`."""
    if annotator == PEOPLE:
        return {}
    together = annotator.startswith(f"{PEOPLE}+")
    return {"annotator": annotator.removeprefix(f"{PEOPLE}+"), "overlap": OVERLAP if together else 0.0}


def _variant_parts(variant: Choice) -> list[str]:
    return [f"{name}_{value}" for name, value in variant.items()]
