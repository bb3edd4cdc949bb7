"""Shares and trends that may be published, of the texts of a learner or a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridal.measures.shares.share_methods import methods
from hybridal.measures.shares.share_sentences import gain_sentence, plan_sentence, sentence
from hybridal.measures.shares.share_table import ShareTable

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Shares:
    """Estimated shares of classes, with intervals that hold whatever the model's errors are.

    Attributes:
        table: All estimates, as data.

    Example:
        >>> from hybridal import ActiveLearner
        >>> from hybridal.testing.small import toy_task
        >>> task = toy_task()
        >>> learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
        >>> result = learner.teach(task.answers(task.train.ids[:40]))
        >>> shares = learner.estimate()
        >>> shares.table.basis.labels, [line.name for line in shares.table.of("share")]
        (40, ['sport', 'food'])
    """

    table: ShareTable

    @property
    def sentences(self) -> list[str]:
        """Each estimate in a sentence, with its confidence.

        Example:
            >>> from hybridal.measures.shares.share_table import Basis, Interval, Line
            >>> found = Interval(0.3, 0.25, 0.35)
            >>> line = Line("share", "", "", "late", 900, 90, 0.2, found, found)
            >>> Shares(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1))).sentences
            ['late: 30.0% of the texts, 25.0% to 35.0% with 95% confidence; the model alone counts 20.0%.']
        """
        return list(dict.fromkeys(sentence(line, self.table) for line in self.table.lines))

    @property
    def gain(self) -> str:
        """How much narrower the model's predictions make the intervals."""
        return gain_sentence(self.table)

    @property
    def methods(self) -> str:
        """A paragraph for the methods section of a publication."""
        return methods(self.table)

    def plan(self, half_width: float) -> str:
        """Say how many more random labels it takes until all intervals are this narrow.

        Args:
            half_width: Half of the width of an interval, such as 0.02 for ±2 points.

        Returns:
            A sentence; `table.more_labels(half_width)` is the number.

        Raises:
            UserError: If it is no share.

        Example:
            >>> from hybridal.measures.shares.planning import Precision
            >>> from hybridal.measures.shares.share_table import Basis
            >>> table = ShareTable((), ("late",), 0.95, Basis(9000, 90, 1), precision=(Precision(0.08, 90, 9000),))
            >>> Shares(table).plan(0.05)
            'For ±5 points with 95% confidence you need about 137 more random labels.'
        """
        return plan_sentence(self.table, half_width)

    def to_pandas(self) -> DataFrame:
        """Return the estimates as a DataFrame, a row each.

        Returns:
            Columns `kind`, `group`, `other`, `class`, `texts`, `labels`, `count`, and for `alone` (random labels alone)
            and `estimate` the value and the ends of the interval.

        Example:
            >>> from hybridal.measures.shares.share_table import Basis, Interval, Line
            >>> line = Line("share", "", "", "late", 900, 90, 0.2, None, Interval(0.3, 0.25, 0.35))
            >>> Shares(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1))).to_pandas()["high"].tolist()
            [0.35]
        """
        import pandas as pd

        rows = []
        for line in self.table.lines:
            row: dict[str, Any] = {"kind": line.kind, "group": line.group, "other": line.other, "class": line.name}
            row |= {"texts": line.texts, "labels": line.labels, "count": line.count}
            for prefix, found in (("alone_", line.alone), ("", line.estimate)):
                for end in ("value", "low", "high"):
                    name = "estimate" if end == "value" and not prefix else f"{prefix}{end}"
                    row[name] = None if found is None else getattr(found, end)
            rows.append(row)
        return pd.DataFrame(rows)

    def write(self, folder: str | Path) -> list[Path]:
        """Write tables, figures and the methods paragraph.

        Args:
            folder: The folder; it is created.

        Returns:
            The files: `shares.csv`, `shares.md`, `shares.json`, `shares.svg`, `shares.png` and `shares.pdf`.

        Example:
            >>> import tempfile
            >>> from hybridal.measures.shares.share_table import Basis, Interval, Line
            >>> line = Line("share", "", "", "late", 900, 90, 0.2, None, Interval(0.3, 0.25, 0.35))
            >>> shares = Shares(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1)))
            >>> [path.suffix for path in shares.write(tempfile.mkdtemp())]
            ['.csv', '.md', '.json', '.svg', '.png', '.pdf']
        """
        from hybridal.reports.share_report import write_shares

        return write_shares(self.table, Path(folder))
