"""Write predictions for any number of texts, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

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

    With several labels per text, `labels` replaces class and confidence: a list of the classes above their thresholds,
    which is JSON in a CSV file. Only one piece is in memory at a time, and `target` appears when it is complete.

    Args:
        model: The classifier.
        pieces: The texts.
        target: A file with a suffix of `WRITERS`.
        progress: Called with the number of texts of each piece.
    """
    with file_made_whole(target) as file, WRITERS[target.suffix](file, model.classes) as write:
        predictions = _several if model.thresholds else _predictions
        for rows in filter(len, pieces):
            write(predictions(model, rows))
            progress(len(rows))


def _predictions(model: TextClassifier, rows: Rows) -> DataFrame:
    import pandas as pd

    probabilities = model.predict_proba(rows.texts)
    table = pd.DataFrame(probabilities, columns=[f"p({name})" for name in model.classes])
    table.insert(0, "confidence", probabilities.max(axis=1))
    table.insert(0, "label", [model.classes[best] for best in probabilities.argmax(axis=1)])
    table.insert(0, "id", list(rows.ids))
    return table


def _several(model: TextClassifier, rows: Rows) -> DataFrame:
    import pandas as pd

    probabilities = model.predict_proba(rows.texts)
    table = pd.DataFrame(probabilities, columns=[f"p({name})" for name in model.classes])
    given = probabilities >= np.array(model.thresholds)
    labels = [[model.classes[one] for one in np.flatnonzero(row).tolist()] for row in given]
    table.insert(0, "labels", pd.Series(labels, dtype=object))
    table.insert(0, "id", list(rows.ids))
    return table


@contextmanager
def _csv(file: BinaryIO, _classes: Sequence[Any]) -> Iterator[Write]:
    def write(table: DataFrame) -> None:
        if "labels" in table:
            table = table.assign(labels=table["labels"].map(strict_json))
        file.write(table.to_csv(index=False, header=not file.tell()).encode())

    yield write


@contextmanager
def _jsonl(file: BinaryIO, _classes: Sequence[Any]) -> Iterator[Write]:
    def write(table: DataFrame) -> None:
        # Not DataFrame.to_json, which rounds to ten decimals, so that small probabilities become 0.
        file.write("".join(f"{strict_json(row)}\n" for row in table.to_dict("records")).encode())

    yield write


@contextmanager
def _parquet(file: BinaryIO, classes: Sequence[Any]) -> Iterator[Write]:
    import pyarrow
    import pyarrow.parquet

    writer: pyarrow.parquet.ParquetWriter | None = None

    def write(table: DataFrame) -> None:
        nonlocal writer
        piece = pyarrow.Table.from_pandas(table, preserve_index=False)
        if "labels" in table:
            # All pieces need one type, also those in which no text has any class.
            at, kind = piece.column_names.index("labels"), pyarrow.list_(pyarrow.array(classes).type)
            piece = piece.set_column(at, "labels", piece["labels"].cast(kind))
        writer = writer or pyarrow.parquet.ParquetWriter(file, piece.schema)
        writer.write_table(piece)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


WRITERS: Mapping[str, Callable[[BinaryIO, Sequence[Any]], AbstractContextManager[Write]]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
