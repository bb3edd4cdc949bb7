"""What docs/findings.md rests on results/: `python -m bench.findings` prints its tables and draws its figures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bench import claims, engines, learners, on_the_way, settling
from bench.claim_figures import draw_ends, draw_signals
from bench.facts import Cell, cells, runs
from bench.heads import two_heads
from bench.verdicts import verdicts

HERE = Path(__file__).resolve().parent.parent
IMAGES = HERE / "docs" / "images"
MAIN = {"engine": "first edition", "study": "core"}
SECOND = {"engine": "5a07921", "study": "findings"}


def facts() -> list[Cell]:
    return cells(pd.read_parquet(HERE / "results" / "findings.parquet"))


def of(all_cells: list[Cell], **named: str) -> list[Cell]:
    """The cells that are called so."""
    return [cell for cell in all_cells if named.items() <= cell.named.items()]


def tables() -> dict[str, str]:
    """All tables of the paper's claims, by name."""
    known = facts()
    main, first = of(known, **MAIN), claims.whole(runs(of(known, engine=MAIN["engine"]), claims.SCHEDULES))
    ends = first[first["study"] == MAIN["study"]]
    second = of(known, **SECOND)
    newer = runs(second, claims.SCHEDULES)
    f1, nll = engines.against_first(ends, newer)
    return {
        "verdicts on the paper": verdicts(ends, first, main, second),
        "F1 and cost": claims.accuracy_and_cost(ends),
        "parity": claims.parity(ends),
        "calibration": claims.calibration(ends),
        "on the way": on_the_way.validation(main),
        "a coin": claims.coin(ends),
        "regret": claims.regrets(ends),
        "signals that agree": settling.agreement(main),
        "settling": settling.settled(main),
        "thresholds": settling.firing(main),
        "after the switch": settling.after_the_switch(main),
        "validation and stopping": claims.validation_and_stopping(first),
        "batches": on_the_way.batches(second),
        "two heads": two_heads(ends),
        "two engines": engines.same_method(main, second, ends, newer),
        "the second edition": f1,
        "the second edition, calibration": nll,
    }


def main() -> None:
    for name, text in {**tables(), **learners.tables()}.items():
        print(f"\n{name}\n\n{text}")
    main = of(facts(), **MAIN)
    draw_ends(claims.whole(runs(main, claims.SCHEDULES)), IMAGES / "claims.png")
    draw_signals(main, IMAGES / "settling.png")
    learners.draw(IMAGES / "learners.png")


if __name__ == "__main__":
    main()
