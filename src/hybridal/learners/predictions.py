"""Write predictions for any number of texts, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hybridal.core.outputs import Floats
from hybridal.learners.text_classifier import TextClassifier, sets_in_order
from hybridal.measures.evidence import answer_confidence
from hybridal.measures.prediction_sets import SetRule
from hybridal.measures.selective import Promise
from hybridal.measures.shift import RandomSample, Shift
from hybridal.system.files import file_made_whole, strict_json
from hybridal.tasks.read import Rows

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class Promised:
    """What is promised of predictions, as two more columns.

    Attributes:
        answers: Marks each text as `answer` or `ask` in the column `decision`.
        sets: Writes the column `set`: classes that contain the true ones, the most probable first.
    """

    answers: Promise | None = None
    sets: SetRule | None = None


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        answered: How many texts are answered; 0 if nothing is promised of answers.
        shift: How the texts differ from those of the random labels; None if nothing is promised.
    """

    answered: int = 0
    shift: Shift | None = None


NOTHING = Promised()
LISTS = frozenset({"labels", "set"})
"""The columns with a list of classes."""

Write = Callable[["DataFrame"], None]


def write_predictions(
    model: TextClassifier,
    pieces: Iterable[Rows],
    target: Path,
    progress: Callable[[int], None] = lambda _texts: None,
    promised: Promised = NOTHING,
) -> Written:
    """Write id, class, confidence and all probabilities of each text.

    With several labels per text, `labels` replaces class and confidence: a list of the classes above their thresholds,
    which is JSON in a CSV file. Only one piece is in memory at a time, and `target` appears when it is complete.

    Args:
        model: The classifier.
        pieces: The texts.
        target: A file with a suffix of `WRITERS`.
        progress: Called with the number of texts of each piece.
        promised: Adds columns with what is promised.

    Returns:
        How many texts are answered, and how the texts differ from those of the random labels.
    """
    answered, sample = 0, RandomSample()
    asked = promised.answers is not None or promised.sets is not None
    with file_made_whole(target) as file, WRITERS[target.suffix](file, model.classes) as write:
        predictions = _several if model.thresholds else _predictions
        for rows in filter(len, pieces):
            probabilities = model.predict_proba(rows.texts)
            if asked:
                sample.add(probabilities)
            table = predictions(model, rows, probabilities)
            if promised.sets is not None:
                sets = sets_in_order(promised.sets.sets(probabilities), probabilities, model.classes)
                table.insert(len(table.columns) - len(model.classes), "set", _lists(sets))
            if promised.answers is not None:
                answers = promised.answers.answers(answer_confidence(probabilities, model.thresholds))
                table.insert(1, "decision", np.where(answers, "answer", "ask"))
                answered += int(answers.sum())
            write(table)
            progress(len(rows))
    return Written(answered, model.evidence().shift(sample.rows) if asked else None)


def _lists(values: Sequence[Sequence[Any]]) -> Series[Any]:
    """Return a column of lists; pandas would make rows of equal length a table."""
    import pandas as pd

    return pd.Series([*values], dtype=object)


def _predictions(model: TextClassifier, rows: Rows, probabilities: Floats) -> DataFrame:
    import pandas as pd

    table = pd.DataFrame(probabilities, columns=[f"p({name})" for name in model.classes])
    table.insert(0, "confidence", probabilities.max(axis=1))
    table.insert(0, "label", [model.classes[best] for best in probabilities.argmax(axis=1)])
    table.insert(0, "id", list(rows.ids))
    return table


def _several(model: TextClassifier, rows: Rows, probabilities: Floats) -> DataFrame:
    import pandas as pd

    table = pd.DataFrame(probabilities, columns=[f"p({name})" for name in model.classes])
    given = probabilities >= np.array(model.thresholds)
    labels = [[model.classes[one] for one in np.flatnonzero(row).tolist()] for row in given]
    table.insert(0, "labels", _lists(labels))
    table.insert(0, "id", list(rows.ids))
    return table


@contextmanager
def _csv(file: BinaryIO, _classes: Sequence[Any]) -> Iterator[Write]:
    def write(table: DataFrame) -> None:
        for name in LISTS.intersection(table):
            table = table.assign(**{name: table[name].map(strict_json)})
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
        for name in LISTS.intersection(table):
            # All pieces need one type, also those in which no text has any class.
            at, kind = piece.column_names.index(name), pyarrow.list_(pyarrow.array(classes).type)
            piece = piece.set_column(at, name, piece[name].cast(kind))
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
