"""What a learner asks for: texts to label next, and why."""

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

    `score` is what it was chosen by, None where it was drawn by chance or before there was a model; `probabilities`
    are the model's, by class, None before there is one.
    """

    id: Any
    text: str
    score: float | None = None
    probabilities: Mapping[Any, float] | None = None


@dataclass(frozen=True, repr=False)
class Batch(Sequence[Query]):
    """Texts to label next, best first. `candidates` are all that they were chosen from, where there was a model to ask:
    what it says of them has been computed, and can be had until the next update. `note` says why there are fewer texts
    than were asked for; "" if there are as many.

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
        """For notebooks: its table, and why it is short."""
        table = str(self.to_pandas().to_html(max_rows=20, max_cols=10))
        return f"{table}<p>{escape(self.note)}</p>" if self.note else table

    @property
    def ids(self) -> list[Any]:
        return [query.id for query in self.queries]

    @property
    def texts(self) -> list[str]:
        return [query.text for query in self.queries]

    def to_pandas(self) -> pd.DataFrame:
        """A row a text, under its id: the text, its score, and a column `p(class)` for each class."""
        import pandas as pd

        rows = [
            {"text": q.text, "score": q.score, **{f"p({name})": p for name, p in (q.probabilities or {}).items()}}
            for q in self.queries
        ]
        columns = None if rows else ["text", "score"]  # where nothing is left to ask for, too
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
