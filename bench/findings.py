"""What docs/findings.md rests on results/: `python -m bench.findings` prints its tables and draws its figures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bench import best_chance, claims, engines, learners, on_the_way, settling
from bench.claim_figures import draw_chances, draw_ends, draw_signals
from bench.facts import Cell, cells, runs
from bench.heads import two_heads
from bench.verdicts import verdicts

HERE = Path(__file__).resolve().parent.parent
IMAGES = HERE / "docs" / "images"
FIRST = {"engine": "first edition", "study": "core"}
SECOND = ("5a07921", "c8a030c")  # computed the study `findings` in parts
SPECS = tuple(dict.fromkeys([*claims.SCHEDULES, *best_chance.RULES]))


def facts() -> list[Cell]:
    return cells(pd.read_parquet(HERE / "results" / "findings.parquet"))


def of(all_cells: list[Cell], **named: str) -> list[Cell]:
    """The cells that are called so."""
    return [cell for cell in all_cells if named.items() <= cell.named.items()]


def second_edition(all_cells: list[Cell]) -> list[Cell]:
    older, newer = (of(all_cells, engine=commit, study="findings") for commit in SECOND)
    return engines.joined(older, newer, "second edition")


def tables() -> dict[str, str]:
    """All tables of the paper's claims, by name."""
    known = facts()
    main, before = second_edition(known), of(known, **FIRST)
    ends = runs(main, SPECS)
    first = claims.whole(runs(of(known, engine=FIRST["engine"]), claims.SCHEDULES))
    old = first[first["study"] == FIRST["study"]]
    return {
        "verdicts on the paper": verdicts(ends, main, first),
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
        "validation and stopping": claims.validation_and_stopping(first),
        "two heads": two_heads(ends),
        "two engines": engines.same_method(before, main, old, ends),
        "two engines, the claims": engines.same_answers([(main, ends), (before, old)]),
    }


def main() -> None:
    for name, text in {**tables(), **learners.tables()}.items():
        print(f"\n{name}\n\n{text}")
    main = second_edition(facts())
    ends = runs(main, SPECS)
    draw_ends(claims.whole(ends), IMAGES / "claims.png")
    draw_chances(ends, IMAGES / "signals.png")
    draw_signals(main, IMAGES / "settling.png")
    learners.draw(IMAGES / "learners.png")


if __name__ == "__main__":
    main()
