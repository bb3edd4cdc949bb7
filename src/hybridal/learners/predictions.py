"""Write predictions for any number of texts, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hybridal.learners.text_classifier import TextClassifier
from hybridal.system.files import file_made_whole, strict_json
from hybridal.tasks.read import Rows

if TYPE_CHECKING:
    from pandas import DataFrame

Write = Callable[["DataFrame"], None]


def write_predictions(
    model: TextClassifier, pieces: Iterable[Rows], target: Path, progress: Callable[[int], None] = lambda _texts: None
) -> None:
    """Write id, class, confidence and all probabilities of each text.

    Only one piece is in memory at a time, and `target` appears when it is complete.

    Args:
        model: The classifier.
        pieces: The texts.
        target: A file with a suffix of `WRITERS`.
        progress: Called with the number of texts of each piece.
    """
    with file_made_whole(target) as file, WRITERS[target.suffix](file) as write:
        for rows in filter(len, pieces):
            write(_predictions(model, rows))
            progress(len(rows))


def _predictions(model: TextClassifier, rows: Rows) -> DataFrame:
    import pandas as pd

    probabilities = model.predict_proba(rows.texts)
    table = pd.DataFrame(probabilities, columns=[f"p({name})" for name in model.classes])
    table.insert(0, "confidence", probabilities.max(axis=1))
    table.insert(0, "label", [model.classes[best] for best in probabilities.argmax(axis=1)])
    table.insert(0, "id", list(rows.ids))
    return table


@contextmanager
def _csv(file: BinaryIO) -> Iterator[Write]:
    def write(table: DataFrame) -> None:
        file.write(table.to_csv(index=False, header=not file.tell()).encode())

    yield write


@contextmanager
def _jsonl(file: BinaryIO) -> Iterator[Write]:
    def write(table: DataFrame) -> None:
        # Not DataFrame.to_json, which rounds to ten decimals, so that small probabilities become 0.
        file.write("".join(f"{strict_json(row)}\n" for row in table.to_dict("records")).encode())

    yield write


@contextmanager
def _parquet(file: BinaryIO) -> Iterator[Write]:
    import pyarrow
    import pyarrow.parquet

    writer: pyarrow.parquet.ParquetWriter | None = None

    def write(table: DataFrame) -> None:
        nonlocal writer
        piece = pyarrow.Table.from_pandas(table, preserve_index=False)
        writer = writer or pyarrow.parquet.ParquetWriter(file, piece.schema)
        writer.write_table(piece)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


WRITERS: Mapping[str, Callable[[BinaryIO], AbstractContextManager[Write]]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
