from __future__ import annotations

import pandas as pd

from bench import precision


def cells(processor: str, gain: float) -> pd.DataFrame:
    """Two tasks with both precisions, and one whose float32 run is missing."""
    setting = dict.fromkeys(precision.SETTING, 1) | {"processor": processor}
    scores = dict.fromkeys(precision.TESTED, 0.5)
    return pd.DataFrame(
        setting
        | scores
        | {"task": task, "seed": 51, "precision": name, "cpu": cpu, "f1": 0.5 + gain * (name == "bf16")}
        for task in "abc"
        for name, cpu in (("fp32", 30.0), ("bf16", 20.0))
        if (task, name) != ("c", "fp32")
    )


def test_each_setting_has_a_table_over_its_pairs() -> None:
    told = precision.summary(pd.concat([cells("first", 0.01), cells("second", -0.02)])).split("processor ")
    for words, gain in zip(told[1:], ("+0.0100", "-0.0200"), strict=True):
        assert "| 2 pairs, 2 tasks | fp32 | bf16 |" in words
        assert f"| {gain} ({gain} to {gain}) |" in words
        assert "| cpu | 30.0000 | 20.0000 | -10.0000 (-10.0000 to -10.0000) | 1.50 |" in words
