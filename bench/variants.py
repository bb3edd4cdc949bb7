"""What was tried to improve `auto`, from results/variants.parquet: tables of docs/findings.md."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bench.tables import bounds, table

FILE = Path(__file__).resolve().parent.parent / "results" / "variants.parquet"
NOW = "as it is"
CELL = ["task", "seed"]
LABELS = {1: "50", 2: "101", 3: "152", 4: "203", 5: "254", 6: "305", 10: "509", 19: "968"}
LATE_ROUNDS = (9, 10, 11, 12, 13, 14, 15, 17, 20)


def steps(runs: pd.DataFrame) -> str:
    """Steps of a run, mean over cells."""
    return f"{runs.groupby(CELL, observed=True).steps.sum().mean():,.0f}"


def differences(records: pd.DataFrame, rounds: tuple[int, ...]) -> str:
    """Points of macro-F1 that each variant gains, over task means, with one-sided 95% bounds."""
    scores = records.pivot_table(index=CELL, columns=["variant", "round"], values="test_f1", observed=True)
    rows = []
    for variant in records["variant"].unique():
        if variant == NOW:
            continue
        gains = (100 * (scores[variant] - scores[NOW])).dropna(axis=1, how="all").dropna()
        cells = ["–"] * len(rounds)
        for at, number in enumerate(rounds):
            if number in gains:
                mean, low, high = bounds(gains[number].groupby("task", observed=True).mean())
                cells[at] = f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"
        own = records[(records["variant"] == variant) & records.set_index(CELL).index.isin(gains.index)]
        rows.append([variant, str(len(gains)), *cells, steps(own) if max(rounds) in gains else "–"])
    return table(["", "runs", *(f"{LABELS[number]} labels" for number in rounds), "steps"], rows)


def late_class(records: pd.DataFrame) -> str:
    """Macro-F1 around the tenth round, in which texts of the last class appear."""
    rows = []
    for (task, variant), runs in records.groupby(["task", "variant"], observed=True):
        means = runs.groupby("round").test_f1.mean()
        rows.append([f"`{task}`", str(variant), *(f"{means[number]:.3f}" for number in LATE_ROUNDS), steps(runs)])
    return table(["task", "schedule", *(f"round {number}" for number in LATE_ROUNDS), "steps"], rows)


def curves(records: pd.DataFrame) -> str:
    """Macro-F1 and scaled NLL by labels."""
    rows = []
    for variant, runs in records.groupby("variant", observed=True):
        means = runs.groupby("round")[["test_f1", "test_nll_scaled"]].mean()
        shown = [f"{f1:.3f} / {nll:.3f}" for f1, nll in means.loc[[1, 2, 4, 10, 19]].to_numpy()]
        rows.append([str(variant), *shown, steps(runs)])
    return table(["macro-F1 / scaled NLL", *(LABELS[number] for number in (1, 2, 4, 10, 19)), "steps"], rows)


def tables() -> dict[str, str]:
    """All of them, by name."""
    everything = pd.read_parquet(FILE)
    by_study = dict(list(everything.groupby("study", observed=True)))
    return {
        "first training": differences(by_study["first training"], (1, 2, 3, 4)),
        "between trainings": differences(by_study["between trainings"], (3, 4, 5, 6, 10, 19)),
        "late class, growth of a class": late_class(by_study["late class"]),
        "growth of a class": curves(by_study["growth of a class"]),
    }


if __name__ == "__main__":
    for name, text in tables().items():
        print(f"{name}\n\n{text}\n")
