"""The rounds of a learner, as a list and as a DataFrame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from hybridal.core.rounds import Metrics, Round
from hybridal.measures.certainty import known_f1, shown

if TYPE_CHECKING:
    import pandas as pd


class History(list[Round]):
    """The records of all rounds so far.

    >>> from hybridal.core.rounds import Cost
    >>> one = Round(1, "retrain", "R", 50, Cost(steps=9), 1, None, None, None, {"loss": 0.1}, (), ())
    >>> History([one]).to_pandas()[["labels", "steps", "change_loss"]].values.tolist()
    [[50.0, 9.0, 0.1]]
    """

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per round with update, labels, cost, metrics by split and changes of signals.

        Metrics for which a split has too few texts are NaN, such as the macro-F1 of ten texts.

        Returns:
            The DataFrame, indexed by round; empty without rounds.

        Example:
            >>> from hybridal.testing import fake_history
            >>> History(fake_history((), seed=1, rounds=2)).to_pandas()["labels"].tolist()
            [232, 264]
        """
        import pandas as pd

        return pd.DataFrame([_row(record) for record in self]).set_index("round") if self else pd.DataFrame()

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(max_rows=20))


def _row(record: Round) -> dict[str, Any]:
    row: dict[str, Any] = {
        "round": record.round,
        "update": record.update,
        "labels": record.labels,
        "reason": record.reason,
    }
    row |= {name: value for name, value in asdict(record.cost).items() if name != "planned"}
    row |= {"kept_epoch": record.kept_epoch, "temperature": record.temperature}
    for split, metrics in (("validation", record.validation), ("cross", record.cross), ("test", record.test)):
        figures = shown(metrics) if metrics else {}
        row |= {f"{split}_{name}": math.nan if value is None else value for name, value in figures.items()}
    row |= {f"change_{name}": math.nan if change is None else change for name, change in record.changes.items()}
    return row | {f"seconds_{phase}": seconds for phase, seconds in record.seconds.items()}


def measured(record: Round) -> Metrics | None:
    """Return the best available metrics: test, else validation, else cross-fitted."""
    return record.test or record.validation or record.cross


def curve(history: Sequence[Round], width: int = 260, height: int = 70) -> str:
    """Draw the learning curve as SVG; return "" if fewer than two rounds have metrics.

    It shows macro-F1, or accuracy (the share of exact matches) if some round has too few texts for macro-F1.
    """
    rounds = [(record.labels, found) for record in history if (found := measured(record)) is not None]
    if len(rounds) < 2:
        return ""
    has_f1 = all(known_f1(found) for _, found in rounds)
    name, title = ("f1", "macro-F1") if has_f1 else ("accuracy", rounds[-1][1].accuracy_name)
    points = [(labels, getattr(found, name)) for labels, found in rounds]
    least, most = points[0][0], max(points[-1][0], points[0][0] + 1)
    spots = " ".join(
        f"{4 + (width - 8) * (labels - least) / (most - least):.1f},{height - 4 - (height - 8) * score:.1f}"
        for labels, score in points
    )
    words = escape(f"{title} {points[0][1]:.2f} at {points[0][0]} labels, {points[-1][1]:.2f} at {points[-1][0]}")
    return (
        f'<svg role="img" aria-label="{words}" width="{width}" height="{height}" style="border:1px solid #ccc">'
        f'<title>{words}</title><polyline points="{spots}" fill="none" stroke="#2166ac" stroke-width="2"/></svg>'
    )
