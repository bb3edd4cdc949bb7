"""The rounds of a learner, as a list and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from hybridal.core.facts import Metrics, Round

if TYPE_CHECKING:
    import pandas as pd


class History(list[Round]):
    """The facts of each round so far.

    >>> from hybridal.core.facts import Cost
    >>> one = Round(1, "retrain", "R", 50, Cost(steps=9), 1, None, None, None, {"loss": 0.1}, (), ())
    >>> History([one]).to_pandas()[["labels", "steps", "change_loss"]].values.tolist()
    [[50.0, 9.0, 0.1]]
    """

    def to_pandas(self) -> pd.DataFrame:
        """A row a round: its update, labels and cost, its measures by split, and the change of each signal."""
        import pandas as pd

        return pd.DataFrame([_row(fact) for fact in self]).set_index("round") if self else pd.DataFrame()

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(max_rows=20))


def _row(fact: Round) -> dict[str, Any]:
    row: dict[str, Any] = {"round": fact.round, "update": fact.update, "labels": fact.labels, "reason": fact.reason}
    row |= {name: value for name, value in asdict(fact.cost).items() if name != "planned"}
    row |= {"kept_epoch": fact.kept_epoch, "temperature": fact.temperature}
    for split, metrics in (("validation", fact.validation), ("cross", fact.cross), ("test", fact.test)):
        row |= {f"{split}_{name}": value for name, value in (asdict(metrics) if metrics else {}).items()}
    row |= {f"change_{name}": float("nan") if change is None else change for name, change in fact.changes.items()}
    return row | {f"seconds_{phase}": seconds for phase, seconds in fact.seconds.items()}


def measured(fact: Round) -> Metrics | None:
    """What is known of how good the model is, the best evidence first."""
    return fact.test or fact.validation or fact.cross


def curve(history: Sequence[Round], width: int = 260, height: int = 70) -> str:
    """Macro-F1 against labels as a small drawing (SVG); "" where fewer than two rounds were measured."""
    points = [(fact.labels, found.f1) for fact in history if (found := measured(fact)) is not None]
    if len(points) < 2:
        return ""
    least, most = points[0][0], max(points[-1][0], points[0][0] + 1)
    spots = " ".join(
        f"{4 + (width - 8) * (labels - least) / (most - least):.1f},{height - 4 - (height - 8) * f1:.1f}"
        for labels, f1 in points
    )
    said = escape(f"macro-F1 {points[0][1]:.2f} at {points[0][0]} labels, {points[-1][1]:.2f} at {points[-1][0]}")
    return (
        f'<svg role="img" aria-label="{said}" width="{width}" height="{height}" style="border:1px solid #ccc">'
        f'<title>{said}</title><polyline points="{spots}" fill="none" stroke="#2166ac" stroke-width="2"/></svg>'
    )
