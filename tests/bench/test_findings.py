from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from bench import (
    annotators,
    claim_figures,
    encoders,
    engines,
    findings,
    frozen_variants,
    learners,
    multi_label,
    promises,
    shares,
    variants,
)
from bench.claims import ACCURACY, ALPHA, KEY, coin_toss
from bench.on_the_way import overlap, overlaps
from bench.round_records import cells, played, runs
from bench.settling import correlations, pooled
from bench.sizes import Sizes
from bench.tables import bounds
from bench.verdicts import other_labels
from hybridal.lab.study.study_presets import preset

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_findings_page_shows_the_computed_tables() -> None:
    """All tables in one test: making them takes seconds, which must not slow down the collection in each worker."""
    text = (DOCS / "findings.md").read_text(encoding="utf-8")
    page = re.sub("<!--.*?-->", "", text, flags=re.DOTALL).splitlines()  # comments are not rendered
    runs_of_encoders = pd.read_parquet(findings.HERE / "results" / "encoders.parquet")
    shown = (encoders.regret_table, encoders.task_table, encoders.price_table)
    tables = {**findings.tables(), **learners.tables(), **multi_label.tables(), **variants.tables()}
    tables |= frozen_variants.tables()
    for module in (promises, annotators):
        tables[module.__name__] = module.tables(pd.read_parquet(module.FILE))
    tables["trained annotators"] = annotators.trained_table(pd.read_parquet(annotators.TRAINED))
    tables |= shares.tables()
    tables |= {table.__name__: table(runs_of_encoders) for table in shown}
    alone = pd.read_parquet(findings.HERE / "results" / "encoders-alone.parquet")
    tables["alone"] = encoders.alone_table(alone)
    assert {name: [row for row in table.splitlines()[2:] if row not in page] for name, table in tables.items()} == {
        name: [] for name in tables
    }


def test_mean_lies_between_its_confidence_bounds() -> None:
    mean, low, high = bounds(pd.Series([0.1, 0.2, 0.3]))
    # By hand: the standard error is 0.1 / √3, and Student's t with two degrees of freedom leaves 5% beyond 2.92.
    assert mean == pytest.approx(0.2)
    assert high - mean == pytest.approx(2.92 * 0.1 / 3**0.5, abs=1e-4)
    assert mean - low == pytest.approx(high - mean)


def test_each_signals_own_threshold_is_half_its_largest_early_change() -> None:
    records = pd.read_parquet(findings.HERE / "results" / "findings.parquet")
    [(_, history)] = played(cells(records[records["study"] == "calibration"]), "retrain")
    for name in ("accuracy", "f1", "loss", "alpha", "cka", "nc", "weight-distance", "gradient-norm"):
        largest = max(change for record in history[1:5] if (change := record.changes[name]) is not None)
        own = [spec for spec in preset("findings").schedules if spec.startswith(f"hybrid:{name}:")][-1]
        assert float(own.split(":")[2]) == pytest.approx(largest / 2, rel=1e-5)


def test_rounds_of_two_commits_are_one_cell_only_where_they_are_equal() -> None:
    known = findings.records()
    older, newer = (findings.of(known, engine=commit, study="findings")[:1] for commit in findings.SECOND[:2])
    [cell] = engines.joined([older, newer], "both")
    assert cell.named["engine"] == "both"
    assert cell.known.keys() == older[0].known.keys() | newer[0].known.keys()
    sequence = next(iter(older[0].known.keys() & newer[0].known.keys()))
    other = {**older[0].known, sequence: replace(older[0].known[sequence], temperature=9.0)}
    with pytest.raises(ValueError, match=f"{sequence} of two commits differ"):
        engines.joined([[replace(older[0], known=other)], newer], "both")


def test_random_baseline_has_the_retraining_share_of_each_task() -> None:
    """It retrains where fine-tuning harms and fine-tunes where it does not; within a task it times nothing."""
    nll = {"retrain": (1.0, 1.0), "finetune": (3.0, 1.0), "picky": (1.0, 1.0)}
    steps = {"retrain": (100, 100), "finetune": (50, 50), "picky": (100, 50)}
    rows = [
        {"task": task, "seed": seed, "schedule": spec, "steps": steps[spec][at], "test_nll": nll[spec][at]}
        for at, task in enumerate(("harmed", "spared"))
        for seed in (1, 2)
        for spec in nll
    ]
    ends = pd.DataFrame(rows)
    assert coin_toss(ends, "picky").gain[0] == pytest.approx(-0.5)  # (1 + 1) / 2 less (2 + 1) / 2
    assert coin_toss(ends, "picky", each_task=True).gain[0] == pytest.approx(0.0)


def test_batch_of_the_last_round_is_counted() -> None:
    """It was chosen, although it is never labelled."""
    cells = findings.second_edition()[:1]
    [(_, one)], [(_, other)] = (played(cells, spec) for spec in ("replay:96", "replay:32"))
    _, [late] = overlaps(cells, "replay:96", "replay:32")
    assert late == pytest.approx(fmean(overlap(*both) for both in zip(one[2:], other[2:], strict=True)))


def test_signals_may_agree_over_all_rounds_and_in_no_run() -> None:
    """Two runs, one of which moves more in both signals: that is all that they share."""
    few = findings.second_edition()[:2]
    moves = [{"accuracy": (1, 2, 3, 4), "f1": (2, 4, 1, 3)}, {"accuracy": (11, 12, 13, 14), "f1": (12, 14, 11, 13)}]
    made = [
        replace(cell, rounds=5, known={"R" * t: replace(cell.known["R" * t], changes={}) for t in range(1, 6)})
        for cell in few
    ]
    for cell, signals in zip(made, moves, strict=True):
        for t in range(2, 6):
            changes = {name: float(values[t - 2]) for name, values in signals.items()}
            cell.known["R" * t] = replace(cell.known["R" * t], changes=changes)
    assert correlations(made) == {("accuracy", "f1"): [pytest.approx(0.0), pytest.approx(0.0)]}
    assert pooled(made)["accuracy", "f1"] == pytest.approx(0.7619, abs=1e-4)  # 1 - 6 · 20 / (8 · 63)


def test_parity_with_random_labels_is_judged_by_their_runs() -> None:
    """By hand: Δα is +0.02 and +0.04, so 0.03 less 6.314 (Student's t, one degree of freedom) times 0.01."""
    f1 = {"retrain": (0.80, 0.80), ALPHA: (0.82, 0.84), ACCURACY: (0.79, 0.79)}
    rows = [{"task": "trec", "seed": at, "schedule": spec, "test_f1": f1[spec][at]} for spec in f1 for at in (0, 1)]
    claim, _, ours, _ = other_labels(pd.DataFrame(rows), Sizes("entropy", 0, {}))
    assert claim == "Parity with random and BADGE"
    assert ours == "random labels, 2 cells: Δα +0.0300, not below -0.0331; ΔAcc -0.0100, not below -0.0100"


def test_the_figures_are_drawn(tmp_path: Path) -> None:
    main = findings.second_edition()[:8]
    ends = runs(main, findings.SPECS)
    claim_figures.draw_ends(ends[ends["schedule"] != "auto"], tmp_path / "ends.png")
    claim_figures.draw_chances(ends, tmp_path / "chances.png")
    claim_figures.draw_signals(main, tmp_path / "signals.png")
    learners.draw(tmp_path / "learners.png")
    assert min(path.stat().st_size for path in tmp_path.iterdir()) > 10_000


def test_the_page_counts_runs_rounds_and_steps_as_they_are() -> None:
    page = " ".join((DOCS / "findings.md").read_text(encoding="utf-8").split())
    known = findings.records()
    main, specs = findings.second_edition(), preset("findings").schedules
    rounds = sum(len(cell.known) for cell in main)
    steps = sum(record.cost.steps for cell in main for record in cell.known.values())
    assert (
        f"{len(main)} cells, {len(specs)} schedules, {len(runs(main, specs))} runs in {rounds:,} distinct rounds and "
        f"{steps:,} steps" in page
    )
    parts = [findings.of(known, engine=commit, study="findings") for commit in findings.SECOND]
    words = Counter(
        (*(cell.named[name] for name in (*KEY, "acquisition")), sequence)
        for part in parts
        for cell in part
        for sequence in cell.known
    )
    assert f"the same round, {sum(count > 1 for count in words.values()):,} times" in page
