"""A study's runs read from its files alone, without the code under test."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd


def words(rounds: dict[str, dict[str, Any]], last: int) -> dict[str, str]:
    """The update sequence of each schedule of the example."""
    trunk = [rounds["R" * t] for t in range(1, last + 1)]

    def hybrid(signal: str, epsilon: float, patience: int) -> str:
        calm = 0
        for t, record in enumerate(trunk, start=1):
            change = record["changes"][signal]
            calm = calm + 1 if change is not None and change < epsilon else 0
            if calm == patience:
                return "R" * t + "F" * (last - t)
        return "R" * last

    return {
        "Retrain": "R" * last,
        "FineTune": "F" * last,
        "HybridAL ΔAcc": hybrid("accuracy", 0.01, 2),
        "HybridAL Δα": hybrid("alpha", 0.0001, 2),
        "FixedSwitch@3": "RR" + "F" * (last - 2),
    }


def by_hand(study: Path, last: int = 8) -> pd.DataFrame:
    """One row per run: task, seed, method, the measures of the last model, and the sums over rounds."""
    rows = []
    for file in sorted(study.glob("cells/*/rounds.jsonl")):
        name = re.match(r"(\w+)-(\w+)-(\w+)-.*s(\d+)-\w+$", file.parent.name)
        assert name
        rounds = {record["update_sequence"]: record for record in map(json.loads, file.read_text().splitlines())}
        for method, sequence in words(rounds, last).items():
            path = [rounds[sequence[:t]] for t in range(1, last + 1)]
            end = path[-1]
            rows.append(
                {
                    "task": {"imdb": "IMDb", "agnews": "AG News"}.get(name[1], name[1]),
                    "seed": int(name[4]),
                    "method": method,
                    "f1": end["test"]["f1"],
                    "nll": end["test"]["nll"],
                    "ece": end["test"]["ece"],
                    "nll_scaled": end["test"]["nll_scaled"],
                    "temperature": end["temperature"],
                    "validation_f1": end["validation"]["f1"],
                    "validation_nll": end["validation"]["nll"],
                    "eces": [record["validation"]["ece"] for record in path],
                    "acquired": [record["acquired"] for record in path],
                    "scores": [record["scores"] for record in path],
                    "steps": sum(record["cost"]["steps"] for record in path),
                    "seconds": sum(record["seconds"]["train"] + record["seconds"]["validate"] for record in path),
                    "switch": sequence.count("R") if "F" in sequence else None,
                }
            )
    return pd.DataFrame(rows)
