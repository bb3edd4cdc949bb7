"""Shared and separate runs give the same rounds, and each update sequence is computed once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from hybridal.core.rounds import LabelChanges, Round
from hybridal.lab.study import trie
from hybridal.lab.study.trie import Trie, histories
from hybridal.loop.loop import active_learning
from hybridal.runs.assemble import build_experiment, build_model, watched
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule, make_schedule
from hybridal.testing.small import toy_task
from hybridal.updates import UPDATES, Update, Weights
from hybridal.updates.finetune import FineTune
from hybridal.updates.retrain import Retrain

from .linear import Watched, damage, linear_cell

SPECS = (
    *("retrain", "finetune", "newonly", "fixed:2", "fixed:3", "anchor:0.5", "anchor:0.7", "replay:4", "replay:8"),
    *("hybrid:accuracy:0.9:1", "hybrid:accuracy:0.9:2", "hybrid:loss:0.05:1", "hybrid:loss:1e-9:1"),
)

NAMES = {"R": "retrain", "F": "finetune"}


@dataclass(frozen=True)
class Spelt(Schedule):
    """A schedule with a fixed update sequence."""

    update_sequence: str
    name: ClassVar[str] = "label_text"

    @property
    def spec(self) -> str:
        return self.update_sequence

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        return UPDATES.make(NAMES[self.update_sequence[min(len(history), len(self.update_sequence) - 1)]])


ALL_WORDS = [Spelt("".join(letters)) for letters in itertools.product("RF", repeat=4)]


class CutOffError(Exception):
    pass


def schedules_of(*specs: str) -> list[Schedule]:
    return [make_schedule(spec) for spec in specs]


def walked(
    cell: Watched, schedules: Sequence[Schedule], folder: Path, known: Sequence[Round] = (), cut_at: int | None = None
) -> list[Round]:
    """The rounds that were recorded, `known` first; cut off when the n-th new one is about to be."""
    round_records = list(known)

    def record(round_record: Round) -> None:
        if cut_at is not None and len(round_records) - len(known) == cut_at:
            raise CutOffError
        round_records.append(round_record)

    trie = Trie(cell, {round_record.update_sequence: round_record for round_record in known}, record, folder)
    try:
        trie.walk(schedules)
    except CutOffError:
        assert cut_at is not None
    return round_records


def timeless(round_records: Sequence[Round]) -> list[Round]:
    return [replace(round_record, seconds={}) for round_record in round_records]


def by_sequence(round_records: Sequence[Round]) -> dict[str, Round]:
    return {round_record.update_sequence: round_record for round_record in timeless(round_records)}


def same_bits(one: Weights | None, other: Weights | None) -> bool:
    assert one is not None
    assert other is not None
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def transformer_cell(**overrides: Any) -> Watched:
    rules = {"rounds": 3, "initial": 12, "batch": 4, "candidates": 40, "max_epochs": 2, "learning_rate": 1e-3}
    settings = Settings("toy", backbone="tiny", protocol="quick", device="cpu", overrides={**rules, **overrides})
    task, signals = toy_task(), watched(replace(settings, signals=("accuracy", "loss")))
    cell = build_experiment(settings, task, build_model(settings, task, signals), signals)
    fields = (cell.task, cell.model, cell.rules, cell.seed, cell.acquisition, cell.signals, cell.annotator)
    return Watched(*fields).watch()


@pytest.mark.parametrize(
    ("make", "specs"),
    [
        (linear_cell, SPECS),
        (transformer_cell, ("retrain", "finetune", "fixed:2", "anchor:0.5", "anchor:0.7", "hybrid:accuracy:0.9:1")),
        (lambda: transformer_cell(moments="carry", dropout="finetune"), ("finetune", "fixed:2", "fixed:3", "replay:4")),
    ],
    ids=["linear", "transformer", "transformer that carries moments"],
)
def test_shared_walk_gives_the_records_of_separate_runs(
    make: Callable[[], Watched], specs: tuple[str, ...], tmp_path: Path
) -> None:
    cell, schedules = make(), schedules_of(*specs)
    round_records = walked(cell, schedules, tmp_path)
    together = dict(cell.weights)
    found = histories(
        {round_record.update_sequence: round_record for round_record in round_records}, schedules, cell.rules.rounds
    )
    assert list(found) == [schedule.spec for schedule in schedules]
    for schedule in schedules:
        *_, (state, _) = alone = list(active_learning(cell, schedule))
        assert timeless(found[schedule.spec]) == timeless([round_record for _, round_record in alone])
        assert same_bits(together[state.update_sequence], state.weights)


def test_each_update_sequence_is_computed_once(tmp_path: Path) -> None:
    cell, schedules = linear_cell(), schedules_of(*SPECS)
    round_records = walked(cell, schedules, tmp_path)
    assert set(Counter(cell.words).values()) == {1}
    alone = {
        round_record.update_sequence
        for schedule in schedules
        for _, round_record in active_learning(linear_cell(), schedule)
    }
    assert {round_record.update_sequence for round_record in round_records} == alone
    assert len(round_records) == len(alone)
    first = {"R", "F", "N", "A(0.5)", "A(0.7)", "P(4)", "P(8)"}
    assert [sequence for sequence in cell.words if sequence in first] == ["F"], "first rounds that are alike are one"
    assert set(cell.words) == alone - first | {"F"}


@pytest.mark.parametrize(
    ("rules", "computed"),
    [
        ({}, {"F"}),
        ({"newonly_round_1": "skip"}, {"F", "N"}),
        ({"dropout": "finetune"}, {"F", "N"}),
        ({"dropout": "off"}, {"F"}),
        ({"moments": "carry"}, {"F", "H"}),  # FINETUNE and NEWONLY keep theirs, the others have none
        ({"head": "probe", "pooling": "mean"}, {"F", "H"}),
        ({"head": "probe", "pooling": "mean", "probe_until": 100}, {"F"}),
    ],
    ids=lambda value: ",".join(sorted(value)),
)
def test_first_rounds_are_shared_where_they_train_alike(
    rules: dict[str, Any], computed: set[str], tmp_path: Path
) -> None:
    cell = transformer_cell(rounds=1, **rules)
    schedules = schedules_of("finetune", "newonly", "refit", "anchor:0.5", "replay:4", "finetune:2", "retrain")
    round_records = walked(cell, schedules, tmp_path)
    assert set(cell.words) == computed
    assert len(cell.words) == len(computed)
    found = histories({round_record.update_sequence: round_record for round_record in round_records}, schedules, 1)
    for schedule in schedules:
        alone = [round_record for _, round_record in active_learning(cell, schedule)]
        assert timeless(found[schedule.spec]) == timeless(alone)


def test_arguments_are_part_of_the_update_sequence(tmp_path: Path) -> None:
    cell = linear_cell()
    walked(cell, schedules_of("anchor:0.5", "anchor:0.7", "replay:1", "replay:11"), tmp_path)
    assert len(cell.words) == len(set(cell.words)) == 1 + 4 * 3
    assert "A(0.5)A(0.5)" in cell.words
    assert "P(1)P(1)" in cell.words
    assert not same_bits(cell.weights["A(0.5)" * 4], cell.weights["A(0.7)" * 4])


def test_one_schedule_twice_costs_once(tmp_path: Path) -> None:
    cell = linear_cell()
    walked(cell, schedules_of("fixed:3", "fixed:3", "hybrid:accuracy:0.9:1"), tmp_path)
    assert cell.words == ["R", "RR", "RRF", "RRFF"]


def test_a_fork_may_come_before_the_first_round(tmp_path: Path) -> None:
    cell = linear_cell(rounds=1)
    assert [
        round_record.update_sequence for round_record in walked(cell, schedules_of("retrain", "finetune"), tmp_path)
    ] == ["F", "R"]


def test_begin_is_called_before_each_round(tmp_path: Path) -> None:
    cell = linear_cell(rounds=2)
    heard: list[object] = []
    Trie(
        cell,
        {},
        lambda round_record: heard.append(round_record.update_sequence),
        tmp_path,
        lambda round, update: heard.append((round, update)),
    ).walk(schedules_of("retrain", "fixed:2"))
    assert heard == [(1, "retrain"), "R", (2, "finetune"), "RF", (2, "retrain"), "RR"]


class TestCutOff:
    """Every update sequence of four letters, with nested forks."""

    WORDS = sum(2**t for t in range(1, 5))
    COMPUTED = WORDS - 1  # the first round is the same for both letters

    @pytest.fixture(autouse=True)
    def every_state_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trie, "SECONDS_BETWEEN_STATES", 0.0)

    @pytest.fixture(scope="class")
    @classmethod
    def whole(cls, tmp_path_factory: pytest.TempPathFactory) -> list[Round]:
        cell = linear_cell()
        round_records = walked(cell, ALL_WORDS, tmp_path_factory.mktemp("whole"))
        assert len(round_records) == cls.WORDS
        return round_records

    @pytest.mark.parametrize("cut_at", range(WORDS))
    def test_resumed_walk_computes_nothing_twice(self, cut_at: int, whole: list[Round], tmp_path: Path) -> None:
        cell = linear_cell()
        known = walked(cell, ALL_WORDS, tmp_path, cut_at=cut_at)
        assert len(known) == cut_at
        round_records = walked(cell, ALL_WORDS, tmp_path, known)
        assert timeless(round_records) == timeless(whole)
        assert len(cell.words) == self.COMPUTED

    def test_walk_interrupted_at_every_round_gives_the_same_records(self, whole: list[Round], tmp_path: Path) -> None:
        cell = linear_cell()
        known = walked(cell, ALL_WORDS, tmp_path, cut_at=0)
        # The first record of each walk is of the round that the walk before had computed.
        for done in range(1, self.WORDS + 1):
            known = walked(cell, ALL_WORDS, tmp_path, known, cut_at=1)
            assert len(known) == done
        assert timeless(known) == timeless(whole)
        assert len(cell.words) == self.COMPUTED

    @pytest.mark.parametrize("cut_at", [0, 5, 13, 28])
    def test_rarely_stored_state_is_computed_again(
        self, cut_at: int, whole: list[Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trie, "SECONDS_BETWEEN_STATES", 1000.0)
        cell = linear_cell()
        known = walked(cell, ALL_WORDS, tmp_path, cut_at=cut_at)
        assert not (tmp_path / "tip").exists()
        round_records = walked(cell, ALL_WORDS, tmp_path, known)
        assert timeless(round_records) == timeless(whole)
        assert max(Counter(cell.words).values()) <= 2

    @pytest.mark.parametrize("cut_at", [1, 4, 9, 17, 29])
    @pytest.mark.parametrize("harm", ["damaged", "gone"])
    def test_without_its_states_each_round_is_computed_once_more_at_most(
        self, harm: str, cut_at: int, whole: list[Round], tmp_path: Path
    ) -> None:
        cell, folder = linear_cell(), tmp_path / "states"
        known = walked(cell, ALL_WORDS, folder, cut_at=cut_at)
        if harm == "damaged":
            damage(folder)
        else:
            folder.rename(tmp_path / "gone")
        round_records = walked(cell, ALL_WORDS, folder, known)
        assert by_sequence(round_records) == by_sequence(whole)
        assert len(round_records) == len(whole), "a round was recorded twice"
        assert max(Counter(cell.words).values()) == 2

    def test_a_complete_walk_computes_nothing(self, whole: list[Round], tmp_path: Path) -> None:
        cell = linear_cell()
        assert walked(cell, ALL_WORDS, tmp_path, whole) == whole
        assert cell.words == []

    def test_a_schedule_that_comes_later_costs_its_own_rounds(self, tmp_path: Path) -> None:
        cell = linear_cell()
        known = walked(cell, schedules_of("retrain"), tmp_path)
        cell.words.clear()
        round_records = walked(cell, schedules_of("retrain", "finetune"), tmp_path, known)
        assert cell.words == ["F", "FF", "FFF", "FFFF"]
        assert round_records[:4] == known

    def test_a_late_tail_computes_the_states_that_it_needs_again(self, tmp_path: Path) -> None:
        cell = linear_cell()
        known = walked(cell, schedules_of("retrain"), tmp_path / "states")
        cell.words.clear()
        (tmp_path / "states").rename(tmp_path / "gone")
        round_records = walked(cell, schedules_of("retrain", "fixed:3"), tmp_path / "states", known)
        assert cell.words == ["RR", "RRF", "RRFF"]
        alone = [round_record for _, round_record in active_learning(linear_cell(), make_schedule("fixed:3"))]
        found = histories(
            {round_record.update_sequence: round_record for round_record in round_records}, schedules_of("fixed:3"), 4
        )
        assert timeless(found["fixed:3"]) == timeless(alone)

    @pytest.mark.parametrize(
        ("make", "specs"),
        [
            (lambda: linear_cell(rounds=5), SPECS),
            (transformer_cell, ("retrain", "finetune", "fixed:2", "fixed:3", "hybrid:accuracy:0.9:1")),
            (
                lambda: transformer_cell(validation="share", head="probe", temperature="shrunk", probe_until=14),
                ("retrain", "fixed:2", "fixed:3", "auto"),
            ),
        ],
        ids=["linear", "transformer", "transformer with a share to measure on"],
    )
    def test_walk_from_records_equals_the_original(
        self, make: Callable[[], Watched], specs: tuple[str, ...], tmp_path: Path
    ) -> None:
        """To the last bit: weights, and every record of the rounds that follow."""
        cell, schedules = make(), schedules_of(*specs)
        whole = walked(cell, schedules, tmp_path / "whole")
        expected = dict(cell.weights)
        cell.watch()
        known = [round_record for round_record in whole if round_record.round < cell.rules.rounds]
        round_records = walked(cell, schedules, tmp_path / "again", known)
        assert by_sequence(round_records) == by_sequence(whole)
        assert all(same_bits(weights, expected[sequence]) for sequence, weights in cell.weights.items())
        assert max(Counter(cell.words).values()) == 1


class TestMemory:
    def test_a_long_trunk_with_many_tails_keeps_few_states(self, tmp_path: Path) -> None:
        cell = linear_cell(rounds=12)
        tails = [f"fixed:{first}" for first in range(1, 13)]
        walked(cell, schedules_of("retrain", *tails), tmp_path)
        assert len(cell.words) == 12 + sum(range(1, 13)) - 1
        # The trunk's at the fork, the last of the tail, and the one that was just made of it.
        assert max(cell.alive) == 3

    def test_resumed_walk_keeps_few_states(self, tmp_path: Path) -> None:
        cell = linear_cell(rounds=12)
        schedules = schedules_of("retrain", *(f"fixed:{first}" for first in range(1, 13)))
        known = walked(cell, schedules, tmp_path, cut_at=40)
        cell.watch()
        damage(tmp_path)
        walked(cell, schedules, tmp_path, known)
        assert max(cell.alive) <= 3

    def test_states_on_disk_are_few(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trie, "SECONDS_BETWEEN_STATES", 0.0)
        cell = linear_cell(rounds=5)
        walked(cell, schedules_of("retrain", "fixed:2", "fixed:3"), tmp_path)
        files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
        assert files == [
            "fork-00001/round-00001.safetensors",
            "fork-00002/round-00002.safetensors",
            "tip/round-00005.safetensors",
        ]


class TestHistories:
    def test_histories_end_at_the_last_known_round(self, tmp_path: Path) -> None:
        schedules = schedules_of("retrain", "fixed:3")
        round_records = walked(linear_cell(), schedules, tmp_path, cut_at=3)
        known = {round_record.update_sequence: round_record for round_record in round_records}
        found = histories(known, schedules, 4)
        assert {
            spec: [round_record.update_sequence for round_record in history] for spec, history in found.items()
        } == {
            "retrain": ["R", "RR"],
            "fixed:3": ["R", "RR", "RRF"],
        }
        assert [len(history) for history in histories(known, schedules, 1).values()] == [1, 1]
        assert histories({}, schedules, 4) == {"retrain": (), "fixed:3": ()}


class TestLabelChanges:
    def test_schedules_that_depend_on_new_labels_share_rounds_and_keep_their_own_reasons(self, tmp_path: Path) -> None:
        class Told(Spelt):
            """Retrains when at least three labels came, and says so."""

            def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
                assert label_changes is not None
                return Retrain(reason="three labels") if label_changes.added >= 3 else FineTune()

        cell = linear_cell(rounds=4)  # six labels, then two a round
        asked = [Told("told"), *schedules_of("fixed:2")]
        round_records = {round_record.update_sequence: round_record for round_record in walked(cell, asked, tmp_path)}
        assert sorted(round_records) == ["R", "RF", "RFF", "RFFF"]
        found = histories(round_records, asked, 4)
        assert [round_record.reason for round_record in found["told"]] == ["three labels", "", "", ""]
        assert [round_record.reason for round_record in found["fixed:2"]] == ["", "", "", ""]
