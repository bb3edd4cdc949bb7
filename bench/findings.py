"""The tables and figures of docs/findings.md from results/: `python -m bench.findings` prints and draws them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from bench import best_chance, claims, elsewhere, engines, learners, on_the_way, robustness, settling, sizes
from bench.claim_figures import draw_chances, draw_ends, draw_signals
from bench.heads import two_heads
from bench.round_records import Cell, cells, runs
from bench.verdicts import verdicts

HERE = Path(__file__).resolve().parent.parent
IMAGES = HERE / "docs" / "images"
FIRST = {"engine": "first edition", "study": "core"}
SECOND = ("5a07921", "c8a030c", "3dd3ee7")  # computed the study `findings` in parts
DRAWN = "b4314ce"  # computed it with labels at random
DRAWN_BEFORE = "3dd3ee7"  # five of its schedules, with torch's own products of matrices
SPECS = tuple(dict.fromkeys([*claims.SCHEDULES, *best_chance.RULES]))


@cache
def records() -> tuple[Cell, ...]:
    return tuple(cells(pd.read_parquet(HERE / "results" / "findings.parquet")))


def of(all_cells: Sequence[Cell], **named: str) -> list[Cell]:
    """The cells with these names."""
    return [cell for cell in all_cells if named.items() <= cell.named.items()]


@cache
def second_edition() -> tuple[Cell, ...]:
    """The study `findings` where labels are chosen by entropy, of seeds that were retrained to the end on all tasks."""
    parts = [of(records(), engine=commit, study="findings", acquisition="entropy") for commit in SECOND]
    joined = engines.joined(parts, "second edition")
    whole = claims.whole(runs(joined, [claims.RETRAIN]))
    return tuple(cell for cell in joined if cell.named["seed"] in set(whole["seed"]))


def at_random(all_cells: Sequence[Cell], commit: str, specs: Sequence[str]) -> pd.DataFrame:
    """The same where labels are drawn, in the cells where all of these schedules were computed to the end."""
    drawn = runs(of(all_cells, engine=commit, study="findings", acquisition="random"), specs)
    return drawn[drawn.groupby(claims.KEY)["schedule"].transform("nunique") == len(specs)]


def varied(all_cells: Sequence[Cell]) -> list[Cell]:
    """The cells of the studies that vary one thing of the protocol, each put together of what any commit computed."""
    found = [cell for cell in of(all_cells, backbone="minilm", protocol="paper") if sizes.study_of(cell)]
    return engines.joined([found], "second edition")


def tables() -> dict[str, str]:
    """All tables of the paper's claims, by name."""
    known = records()
    main, before = second_edition(), of(known, **FIRST)
    ends = runs(main, SPECS)
    first = claims.whole(runs(of(known, engine=FIRST["engine"]), claims.SCHEDULES))
    old = first[first["study"] == FIRST["study"]]
    drawn, before_drawn = at_random(known, DRAWN, SPECS), at_random(known, DRAWN_BEFORE, elsewhere.SPECS)
    studies = sizes.by_size(varied(known), ends)
    larger = runs(of(known, study="findings-mpnet"), elsewhere.PAIRED)
    encoders = {"`minilm`": elsewhere.among(ends, larger), "`mpnet`": larger}
    return {
        "verdicts on the paper": verdicts(ends, main, first, drawn, larger, studies),
        "F1 and cost": claims.accuracy_and_cost(ends),
        "parity": claims.parity(ends),
        "calibration": claims.calibration(ends),
        "on the way": on_the_way.validation(main),
        "a coin": claims.coin(ends),
        "regret": claims.regrets(ends),
        "thresholds": settling.firing(main),
        "each signal, F1 and cost": best_chance.f1_and_cost(ends),
        "each signal, calibration": best_chance.calibration(ends),
        "signals that agree": settling.agreement(main),
        "settling": settling.settled(main),
        "batches": on_the_way.batches(main),
        "labels at random": elsewhere.side_by_side(
            "labels", {"random": drawn, "random, earlier": before_drawn}, claims.SCHEDULES
        ),
        "labels at random, by task": elsewhere.by_task(ends, drawn),
        "labels at random, each signal": best_chance.f1_and_cost(drawn),
        "labels at random, each signal's calibration": best_chance.calibration(drawn),
        "labels at random, regret": claims.regrets(drawn),
        "chosen or drawn": elsewhere.chosen_or_drawn(ends, drawn),
        **robustness.tables(studies),
        "two encoders": elsewhere.side_by_side("encoder", encoders, elsewhere.PAIRED),
        "a base-size encoder": elsewhere.ends_by_task(larger),
        "validation and stopping": claims.validation_and_stopping(first),
        "two heads": two_heads(ends),
        "two engines": engines.same_method(before, main, old, ends),
        "two engines, the claims": engines.same_answers([(main, ends), (before, old)]),
    }


def main() -> None:
    for name, text in {**tables(), **learners.tables()}.items():
        print(f"\n{name}\n\n{text}")
    main = second_edition()
    ends = runs(main, SPECS)
    draw_ends(claims.whole(ends), IMAGES / "claims.png")
    draw_chances(ends, IMAGES / "signals.png")
    draw_signals(main, IMAGES / "settling.png")
    learners.draw(IMAGES / "learners.png")


if __name__ == "__main__":
    main()
