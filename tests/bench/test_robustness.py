from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from bench import findings
from bench.claims import ACCURACY, ALPHA, FINETUNE, RETRAIN
from bench.robustness import apart, moves, parity, switch_rounds, tables
from bench.round_records import CELL, cells, published, runs
from bench.sizes import OWN, VARIED, Sizes, by_size
from bench.verdicts import other_labels, other_sizes
from hybridal.core.rounds import Round
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from tests.lab.reports.studies import write_study

SWITCHING = (RETRAIN, "hybrid:alpha", OWN, "hybrid:accuracy")
POOLS = ({"initial": 50}, {"initial": 100}, {"initial": 500})
SHORT = {"rounds": 12}
Frame = pd.DataFrame


def made(path: Path, name: str, schedules: Sequence[str] = SWITCHING, **factors: object) -> StudyFolder:
    asked = {"tasks": ("imdb", "agnews"), "seeds": (42, 43), "overrides": SHORT, **factors}
    return write_study(path / name, Study(name=name, schedules=tuple(schedules), **asked))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return made(tmp_path_factory.mktemp("pools"), "pool-size", vary=POOLS)


@pytest.fixture(scope="module")
def main(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """The study that computed the protocol as it is, with a seed and a task that the others lack."""
    tasks = ("imdb", "agnews", "sst2")
    return made(tmp_path_factory.mktemp("main"), "findings", (*SWITCHING, FINETUNE), tasks=tasks, seeds=(42, 43, 44))


@pytest.fixture(scope="module")
def usual(main: StudyFolder) -> Frame:
    return runs(cells(published(main, "abc")), [RETRAIN, FINETUNE, ALPHA, OWN, ACCURACY])


def in_cell(folder: StudyFolder, task: str, seed: int, **variant: int) -> dict[str, tuple[Round, ...]]:
    [cell] = [
        cell
        for cell in folder.cells
        if (cell.settings.task, cell.settings.seed, dict(cell.variant)) == (task, seed, variant)
    ]
    return folder.histories(cell)


def ended(run: Sequence[Round]) -> float:
    """F1 on test."""
    assert run[-1].test is not None
    return run[-1].test.f1


def lines(text: str) -> dict[tuple[str, str], list[str]]:
    """The rows of a table by their first two columns."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {(first, second): rest for first, second, *rest in rows}


def expected(histories: Sequence[dict[str, tuple[Round, ...]]], spec: str) -> list[str]:
    """A row about four cells without frames and pairs: straight from the histories."""
    own, retrain = ([history[which] for history in histories] for which in (spec, RETRAIN))
    ends = [[run[-1].test for run in each] for each in (own, retrain)]
    gains = [ended(one) - ended(other) for one, other in zip(own, retrain, strict=True)]
    nll = [one.nll / other.nll for one, other in zip(*ends, strict=True) if one and other]
    steps = [[sum(record.cost.steps for record in run) for run in each] for each in (own, retrain)]
    shares = [one / other for one, other in zip(*steps, strict=True)]
    # A switch that is not in the last round shows in the update sequence: the first F is one round after it.
    fired = [sequence.index("F") for run in own if "F" in (sequence := run[-1].update_sequence)]
    return [
        str(len(own)),
        str(len(fired)),
        f"{fmean(fired):.1f}",
        f"{fmean(map(ended, own)):.3f}",
        f"{fmean(gains):+.3f} ({min(gains):+.3f} to {max(gains):+.3f})",
        f"{fmean(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})",
        f"{exp(fmean(map(log, nll))):.2f} ({min(nll):.2f} to {max(nll):.2f})",
    ]


def test_a_switch_is_compared_with_retraining_in_its_own_cells(
    pools: StudyFolder, main: StudyFolder, usual: Frame
) -> None:
    """By brute force, with another pool and with the usual one in the same tasks and seeds."""
    shown_rows = lines(tables(by_size(cells(published(pools, "abc")), usual))["other pools and batches, and BADGE"])
    both = [(task, seed) for task in ("imdb", "agnews") for seed in (42, 43)]
    assert {words for words, _ in shown_rows} == {
        *(f"a first pool of {size}" for size in (50, 100, 500)),
        "a first pool of 200, as usual",
    }
    other = expected([in_cell(pools, *cell, initial=50) for cell in both], OWN)
    assert shown_rows["a first pool of 50", "`alpha`, own"] == other
    same = expected([in_cell(main, *cell) for cell in both], OWN)
    assert shown_rows["a first pool of 200, as usual", "`alpha`, own"] == same
    assert shown_rows["a first pool of 50", "`retrain`"][:3] == ["4", "", ""]


def test_only_complete_runs_count_and_missing_ones_are_reported(pools: StudyFolder, usual: Frame) -> None:
    records = published(pools, "abc")
    cell = (records["task"] == "imdb") & (records["seed"] == 42)
    last, trunk = records["round"] == 12, ~records["update_sequence"].str.contains("F")
    tails = cell & (records["variant"] == "initial=50") & last & ~trunk  # all that switched there
    retraining = cell & (records["variant"] == "initial=100") & last & trunk
    assert tails.any()
    assert retraining.any()
    found = lines(tables(by_size(cells(records[~tails & ~retraining]), usual))["other pools and batches, and BADGE"])
    left = [("imdb", 43), ("agnews", 42), ("agnews", 43)]
    assert found["a first pool of 50", "`retrain`"][0] == "4"
    three = expected([in_cell(pools, *cell, initial=50) for cell in left], OWN)
    assert found["a first pool of 50", "`alpha`, own"] == ["3 of 4", *three[1:]]
    assert {found["a first pool of 100", name][0] for name in ("`retrain`", "`alpha`, own")} == {"3 of 4"}
    begun = records[~cell | (records["round"] < 12)]  # of this one nothing is whole
    found = lines(tables(by_size(cells(begun), usual))["other pools and batches, and BADGE"])
    assert {row[0] for (size, _), row in found.items() if "usual" not in size} == {"3 of 4"}
    assert found["a first pool of 200, as usual", "`retrain`"][0] == "4"


def test_a_switch_that_never_fires_is_retraining(pools: StudyFolder, usual: Frame) -> None:
    records = published(pools, "abc")
    records.loc[(records["variant"] == "initial=50") & records["change_alpha"].notna(), "change_alpha"] = 1.0
    studies = by_size(cells(records), usual)
    found = lines(tables(studies)["other pools and batches, and BADGE"])
    assert found["a first pool of 50", "`alpha`, own"][1:3] == ["0", "–"]
    assert found["a first pool of 50", "`alpha`, own"][4:] == ["is retraining", "1", "1"]
    only = Sizes("200", 4, {size: studies["pool-size"].runs[size] for size in ("50", "200")})
    assert "Δα with its own ε fired in 0 of 4 runs: is retraining" in parity(only)


def test_a_study_in_parts_is_one_and_sizes_go_up(tmp_path: Path, usual: Frame) -> None:
    parts = [
        made(tmp_path, "batch-size-b", vary=({"batch": 128},)),
        made(tmp_path, "batch-size-a", vary=({"batch": 16}, {"batch": 64})),
        made(tmp_path, "samplers", acquisitions=("badge",)),
        made(tmp_path, "subset-size", (RETRAIN, FINETUNE), vary=({"candidates": None}, {"candidates": 100})),
    ]
    known = cells(pd.concat([published(part, "abc") for part in parts]))
    found = by_size(known, usual)
    assert {study: list(sizes.runs) for study, sizes in found.items()} == {
        "pool-size": [],
        "batch-size": ["16", "32", "64", "128"],
        "samplers": ["entropy", "badge"],
        "subset-size": ["100", "1,000", "all"],
        "validation-size": [],
    }
    assert list(tables(found)) == ["other pools and batches, and BADGE", "other candidates"]


def test_other_candidates_and_validation_labels_are_compared_with_the_usual(
    tmp_path: Path, main: StudyFolder, usual: Frame
) -> None:
    few = made(tmp_path, "subset-size", (RETRAIN, FINETUNE), vary=({"candidates": 100}, {"candidates": None}))
    less = made(tmp_path, "validation-size", ("hybrid:accuracy",), vary=({"validation_size": 25},))
    found = tables(by_size(cells(pd.concat([published(part, "abc") for part in (few, less)])), usual))
    for table, first, study, variant, spec in (
        ("other candidates", ("100", "`finetune`"), few, {"candidates": 100}, FINETUNE),
        ("few validation labels", ("25", "`accuracy`, tuned"), less, {"validation_size": 25}, ACCURACY),
    ):
        gains = [
            ended(in_cell(study, task, seed, **variant)[spec]) - ended(in_cell(main, task, seed)[spec])
            for task in ("agnews", "imdb")
            for seed in (42, 43)
        ]
        by_task = [f"`{task}` {fmean(part):+.3f}" for task, part in (("agnews", gains[:2]), ("imdb", gains[2:]))]
        over_all = f"{fmean(gains):+.3f} ({min(gains):+.3f} to {max(gains):+.3f})"
        assert lines(found[table])[first][-2:] == [over_all, ", ".join(by_task)]
    assert lines(found["other candidates"])["1,000", "`finetune`"][-2:] == ["", ""]
    assert list(lines(found["few validation labels"])) == [("25", "`accuracy`, tuned"), ("all", "`accuracy`, tuned")]


def test_rounds_of_two_commits_are_merged_per_cell(pools: StudyFolder, usual: Frame) -> None:
    whole = published(pools, "abc").assign(backbone="minilm")
    halves = whole.assign(engine=["def" if sequence.count("F") else "abc" for sequence in whole["update_sequence"]])
    either = [tables(by_size(findings.varied(cells(records)), usual)) for records in (whole, halves)]
    assert either[0] == either[1]
    elsewhere = whole.assign(backbone="mpnet")
    assert findings.varied(cells(elsewhere)) == []


def frame(size: str, spec: str, f1: Sequence[float], t_star: Sequence[float | None]) -> Frame:
    """Two tasks of two seeds."""
    named = dict.fromkeys(CELL, "") | {"variant": f"initial={size}", "schedule": spec}
    places = [("agnews", 1), ("agnews", 2), ("imdb", 1), ("imdb", 2)]
    return pd.DataFrame(
        [
            {**named, "task": task, "seed": seed, "test_f1": each, "t_star": after}
            for (task, seed), each, after in zip(places, f1, t_star, strict=True)
        ]
    )


NONE = (None,) * 4
RETRAINED = frame("50", RETRAIN, (0.90, 0.90, 0.80, 0.80), NONE)
BY_HAND = Sizes(
    "all",
    4,
    {
        "25": pd.concat([RETRAINED, frame("50", ACCURACY, (0.91, 0.90, 0.80, 0.76), (4, None, 8, 9))]),
        "all": pd.concat([RETRAINED, frame("200", ACCURACY, (0.90, 0.90, 0.80, 0.79), (3, 3, None, None))]),
    },
)


def test_parity_is_counted_in_means_over_seeds() -> None:
    """By hand: AG News +0.01 and 0, IMDb 0 and -0.04, so that one mean is within 0.013 and one 0.02 below."""
    assert parity(BY_HAND) == (
        "ΔAcc fired in 3 of 4 runs: -0.0075 (-0.0400 to +0.0100), within 0.013 in 1 of 2 means over seeds, below in 1"
    )
    assert switch_rounds(BY_HAND).endswith("ΔAcc 7.0, 3.0")
    assert moves(BY_HAND, {"ΔAcc": ACCURACY}) == "ΔAcc with 25: -0.005 (-0.030 to +0.010)"
    assert apart(BY_HAND, ACCURACY) == "lowest and highest mean apart by 0.005 on `agnews`, 0.015 on `imdb`"


def test_without_records_there_are_no_figures(usual: Frame) -> None:
    nothing = by_size([], usual)
    assert list(nothing) == list(VARIED)
    assert tables(nothing) == {}
    assert [ours for _, _, ours, _ in other_sizes(nothing)] == ["–"] * 3
    assert "BADGE" not in other_labels(usual, nothing["samplers"])[2]
    assert "BADGE: ΔAcc fired in 3 of 4 runs" in other_labels(usual, BY_HAND)[2]
