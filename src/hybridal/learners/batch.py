"""Texts to label next, with scores and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd

    from hybridal.acquisition import Candidates


@dataclass(frozen=True)
class Query:
    """One text to label.

    Attributes:
        id: Id of the text.
        text: The text.
        score: Score of the acquisition; None if the text was drawn at random or there was no model yet.
        probabilities: Calibrated probability of each class; None if there was no model yet.
        labels: With several labels per text: the classes that the model gives, which are those above their thresholds.

    Example:
        >>> Query(7, "so so", 0.69, {"bad": 0.5, "good": 0.5}).score
        0.69
    """

    id: Any
    text: str
    score: float | None = None
    probabilities: Mapping[Any, float] | None = None
    labels: frozenset[Any] | None = None


@dataclass(frozen=True, repr=False)
class Batch(Sequence[Query]):
    """Texts to label next, best first; a sequence of `Query`.

    Attributes:
        queries: The texts.
        candidates: All texts that the acquisition chose from, with the predictions of the model, which are valid until
            the next update; None if there was no model yet.
        note: Why there are fewer texts than requested; "" if there are not fewer.

    Example:
        >>> batch = Batch((Query(7, "so so", 0.69, {"bad": 0.5, "good": 0.5}), Query(3, "fine")))
        >>> batch.ids, batch.texts, len(batch), batch[0].score
        ([7, 3], ['so so', 'fine'], 2, 0.69)
    """

    queries: tuple[Query, ...]
    candidates: Candidates | None = field(default=None, compare=False)
    note: str = ""

    def __repr__(self) -> str:
        first = [query.text or query.id for query in self.queries[:3]]  # rows of a table have no text
        shown = [f"{one[:40]}…" if isinstance(one, str) and len(one) > 40 else one for one in first]
        more = ", …" if len(self) > len(shown) else ""
        texts = f": {', '.join(map(repr, shown))}{more}" if shown else ""
        note = f"; {self.note}" if self.note else ""
        return f"Batch({len(self)} text{'' if len(self) == 1 else 's'}{texts}{note})"

    def _repr_html_(self) -> str:
        """Show the table and the note in notebooks."""
        table = str(self.to_pandas().to_html(max_rows=20, max_cols=10))
        several = any(query.labels is not None for query in self.queries)
        notes = [self.note, "Each class has a probability of its own; they do not sum to 1." if several else ""]
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes if note)

    @property
    def ids(self) -> list[Any]:
        """Ids of the texts."""
        return [query.id for query in self.queries]

    @property
    def texts(self) -> list[str]:
        """The texts."""
        return [query.text for query in self.queries]

    def to_pandas(self) -> pd.DataFrame:
        """Return the batch as a DataFrame.

        Returns:
            One row per text, indexed by id, with the columns `text`, `score` and one `p(class)` per class; with several
            labels per text also `labels`, the classes that the model gives.

        Example:
            >>> Batch((Query(3, "fine", 0.5),)).to_pandas().loc[3, "text"]
            'fine'
        """
        import pandas as pd

        rows = [
            {"text": q.text, "score": q.score}
            | ({} if q.labels is None else {"labels": [name for name in q.probabilities or {} if name in q.labels]})
            | {f"p({name})": p for name, p in (q.probabilities or {}).items()}
            for q in self.queries
        ]
        columns = None if rows else ["text", "score"]  # an empty batch has these columns too
        return pd.DataFrame(rows, index=pd.Index(self.ids, name="id"), columns=columns)

    @overload
    def __getitem__(self, index: int) -> Query: ...

    @overload
    def __getitem__(self, index: slice) -> Batch: ...

    def __getitem__(self, index: int | slice) -> Query | Batch:
        return Batch(self.queries[index], self.candidates) if isinstance(index, slice) else self.queries[index]

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)
