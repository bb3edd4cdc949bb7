from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from hybridal.schedules import make_schedule, spec_of

MINE = """
from dataclasses import dataclass
from typing import ClassVar

from hybridal.schedules import Schedule
from hybridal.signals.agreement import Agreement
from hybridal.updates import UPDATES


class Flips(Agreement):
    name: ClassVar[str] = "flips"
    title: ClassVar[str] = "Flips"


@dataclass(frozen=True)
class Every(Schedule):
    nth: int = 3
    name: ClassVar[str] = "every"
    title: ClassVar[str] = "Now and then"
    spec: ClassVar[str] = "every"
    watches: ClassVar[tuple] = (Flips(),)

    def switch_rounds(self, rounds):
        return range(2, 4)

    def t_star(self, history):
        return 7

    def decide(self, history, label_changes=None):
        return UPDATES.make("finetune" if len(history) % self.nth else "retrain")
"""


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_file.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "my_own_file", raising=False)


def test_schedule_is_rebuilt_from_its_path() -> None:
    schedule = make_schedule("my_own_file.Every:2")
    assert schedule.spec == spec_of(schedule) == "my_own_file.Every:2"
    assert make_schedule(schedule.spec) == schedule


def test_schedule_by_path_uses_its_class_name() -> None:
    schedule = make_schedule("my_own_file.Every:2")
    assert schedule.decide([]).spec == "retrain"
    assert (schedule.title, [signal.name for signal in schedule.watches]) == ("Now and then", ["flips"])
    assert (schedule.rule, schedule.t_star([]), schedule.switch_rounds(9)) == (None, 7, range(2, 4))


def test_a_signal_out_of_a_file_stays_in_the_spec_of_its_schedule() -> None:
    schedule = make_schedule("hybrid:my_own_file.Flips:0.5:1")
    assert schedule.spec == "hybrid:my_own_file.Flips:0.5:1"
    assert make_schedule(schedule.spec) == schedule


def test_built_in_schedules_keep_their_names() -> None:
    assert make_schedule("hybridal.schedules.fixed.FixedSwitch:3").spec == "fixed:3"
