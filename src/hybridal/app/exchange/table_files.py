"""Files to download: labels as CSV, JSONL and Parquet, predictions, and the model folder as a ZIP file."""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from hybridal.app.app_errors import MissingError
from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, Class, Consensus, Person, Text, Vote
from hybridal.app.labelling.texts import in_pages
from hybridal.app.project import MODEL_FOLDER, Project
from hybridal.app.project_settings import read
from hybridal.app.vectors import StoredVectors
from hybridal.system.files import strict_json

# What spreadsheets run when a file is opened; the last four are what some of them read as the first four.
_RUNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_AT_ONCE = 500


def escape_formula(value: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would run it.

    >>> escape_formula("=HYPERLINK(...)"), escape_formula("1 = 1")
    ("'=HYPERLINK(...)", '1 = 1')
    """
    return f"'{value}" if value.startswith(_RUNS) else value


Written = Callable[[str], str]


def csv_parts(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], written: Written = str) -> Iterator[str]:
    """A CSV file in parts; lists are written as JSON, strings as `written` makes them: as they are, unless told.

    >>> "".join(csv_parts(["id", "n"], [{"id": "-1", "n": 2}, {"id": "a", "n": None}])).splitlines()
    ['id,n', '-1,2', 'a,']
    >>> "".join(csv_parts(["id"], [{"id": "-1"}], escape_formula)).splitlines()
    ['id', "'-1"]
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(written, columns))
    for at, row in enumerate(rows, start=1):
        writer.writerow([_cell(row[column], written) for column in columns])
        if at % _AT_ONCE == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any, written: Written) -> Any:
    if isinstance(value, str):
        return written(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return strict_json(value) if isinstance(value, list) else value


PART_BYTES = 1 << 20


def file_parts(file: BinaryIO) -> Iterator[bytes]:
    """What is left of an open file, which is closed at the end.

    >>> import io
    >>> list(file_parts(io.BytesIO(b"abc")))
    [b'abc']
    """
    with file:
        while part := file.read(PART_BYTES):
            yield part


COLUMNS = ("id", "text", "label", "source", "split", "flagged", "comments", "at", "annotations")


def label_rows(sessions: Sessions) -> Iterator[dict[str, Any]]:
    """The texts that somebody answered, in the order in which they came.

    `label` is None where people disagree or only skipped; `at` is the time of the last answer; `annotations` has an
    entry for everybody whose answer stands. All columns that texts came with follow, None where one has nothing there.
    """
    with sessions() as session:
        columns = {name: f"{name} (file)" if name in COLUMNS else name for name in read(session)["columns"]}
    for rows in in_pages(sessions, _page, lambda row: row[0].row):
        for text, said in groupby(rows, key=lambda row: row[0]):
            context = text.context or {}
            yield _line(text, [*said]) | {shown: context.get(name) for name, shown in columns.items()}


def _page(session: Session, last: int) -> list[Any]:
    given, settled = aliased(Class), aliased(Class)
    answered = select(Vote.text_row).join(Text).where(Vote.text_row > last, Text.deleted.is_(None)).distinct()
    some = answered.order_by(Vote.text_row).limit(_AT_ONCE).subquery()
    rows = session.execute(
        select(Text, Consensus.source, settled.name, Annotation, Person.name, given.name)
        .join(some, some.c.text_row == Text.row)
        .join(Vote, Vote.text_row == Text.row)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .join(Person, Person.number == Vote.person_number)
        .outerjoin(given, given.number == Vote.class_number)
        .outerjoin(Consensus, Consensus.text_row == Text.row)
        .outerjoin(settled, settled.number == Consensus.class_number)
        .order_by(Text.row, Annotation.number)
    )
    return [*rows]


def _line(text: Text, rows: list[Any]) -> dict[str, Any]:
    _, source, label, *_ = rows[0]
    answers = [
        {
            "person": person,
            "action": "adjudicate" if answer.decides else answer.action,
            "class": name,
            "flagged": answer.flagged,
            "comment": answer.comment,
            "at": iso_time(answer.at),
        }
        for _, _, _, answer, person, name in rows
    ]
    return {
        "id": text.id,
        "text": text.body,
        "label": label,
        "source": source,
        "split": text.split,
        "flagged": any(answer["flagged"] for answer in answers),
        "comments": "\n".join(f"{answer['person']}: {answer['comment']}" for answer in answers if answer["comment"]),
        "at": max(answer["at"] for answer in answers),
        "annotations": answers,
    }


def iso_time(seconds: float) -> str:
    """A time as everybody can read it.

    >>> iso_time(0.0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Lines = Iterable[Mapping[str, Any]]


def labels_csv(lines: Lines, written: Written = str) -> Iterator[bytes]:
    """Every text as it is, unless told otherwise; answers are JSON."""
    columns, lines = _columns(lines, COLUMNS)
    return (part.encode() for part in csv_parts(columns, lines, written))


def labels_jsonl(lines: Lines) -> Iterator[bytes]:
    """A JSON object a line, every text as it is."""
    for some in _batches(lines):
        yield "".join(strict_json(line) + "\n" for line in some).encode()


def labels_parquet(lines: Lines) -> Iterator[bytes]:
    """The same as a Parquet file."""
    import pyarrow as pa

    words, truth = pa.string(), pa.bool_()
    answer = pa.struct(
        [(name, words) for name in ("person", "action", "class", "comment", "at")] + [("flagged", truth)]
    )
    kinds = {"flagged": truth, "annotations": pa.list_(answer)}
    columns, lines = _columns(lines, COLUMNS)
    return _parquet(pa.schema([(column, kinds.get(column, words)) for column in columns]), lines)


def _parquet(schema: Any, lines: Lines) -> Iterator[bytes]:
    """A Parquet file; its end is known only when all is written, so it is made beside and then sent."""
    import pyarrow as pa
    from pyarrow import parquet

    file = tempfile.TemporaryFile()  # noqa: SIM115
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _batches(lines):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))
    file.seek(0)
    return file_parts(file)


LABEL_FORMATS: Mapping[str, Callable[[Lines], Iterator[bytes]]] = {
    "csv": labels_csv,
    "spreadsheet.csv": partial(labels_csv, written=escape_formula),
    "jsonl": labels_jsonl,
    "parquet": labels_parquet,
}


def _columns(lines: Lines, at_least: Sequence[str]) -> tuple[Sequence[str], Lines]:
    """What each line has, and all of them; a file without a line has its columns all the same."""
    rest = iter(lines)
    first = next(rest, None)
    return (at_least, ()) if first is None else ([*first], chain([first], rest))


def _batches(lines: Lines) -> Iterator[list[Any]]:
    some: list[Any] = []
    for line in lines:
        some.append(line)
        if len(some) == _AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def prediction_rows(project: Project) -> Iterator[dict[str, Any]]:
    """What the newest model that has scored it says of each text: the likeliest class, all probabilities, its round."""
    kept = project.probabilities.read()
    if kept is None:
        raise MissingError("No text has been scored yet; label some texts first.")
    with project.reads() as session:
        names = dict(session.execute(select(Class.number, Class.name)).all())
    classes = [names[number] for number in kept.about["classes"]]
    return _prediction_lines(project.reads, kept, classes)


def _prediction_lines(sessions: Sessions, kept: StoredVectors, classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    for page in in_pages(sessions, _ids_page, lambda text: int(text.row)):
        for text in page:
            if text.row < len(kept.stamps) and kept.stamps[text.row]:
                shares = kept.values[text.row].tolist()
                best = max(range(len(shares)), key=shares.__getitem__)
                said = {"id": text.id, "class": classes[best], "probability": shares[best]}
                by_class = {f"p({name})": share for name, share in zip(classes, shares, strict=True)}
                yield {**said, **by_class, "round": int(kept.stamps[text.row]) - 1}


def _ids_page(session: Session, last: int) -> Sequence[Any]:
    after = select(Text.row, Text.id).where(Text.row > last, Text.deleted.is_(None))
    return session.execute(after.order_by(Text.row).limit(_AT_ONCE)).all()


def predictions_csv(lines: Lines, written: Written = str) -> Iterator[bytes]:
    """Every id and class as it is, unless told otherwise."""
    columns, lines = _columns(lines, PREDICTION_COLUMNS)
    return (part.encode() for part in csv_parts(columns, lines, written))


def predictions_parquet(lines: Lines) -> Iterator[bytes]:
    """The same as a Parquet file."""
    import pyarrow as pa

    columns, lines = _columns(lines, PREDICTION_COLUMNS)
    kinds = {"id": pa.string(), "class": pa.string(), "round": pa.int64()}
    return _parquet(pa.schema([(column, kinds.get(column, pa.float64())) for column in columns]), lines)


PREDICTION_COLUMNS = ("id", "class", "probability", "round")
PREDICTION_FORMATS: Mapping[str, Callable[[Lines], Iterator[bytes]]] = {
    "csv": predictions_csv,
    "spreadsheet.csv": partial(predictions_csv, written=escape_formula),
    "parquet": predictions_parquet,
}

# ZIP knows no time before this one; a model's files have no other that matters.
_TIME = (1980, 1, 1, 0, 0, 0)


class ModelArchive:
    """The files of the newest model, all opened at once: one that replaces it meanwhile is not mixed in."""

    def __init__(self, exports: Path) -> None:
        folder = exports / MODEL_FOLDER
        with ExitStack() as opened:
            try:
                paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
                files = {path.relative_to(folder): opened.enter_context(path.open("rb")) for path in paths}
            except OSError:
                files = {}
            if not files:
                raise MissingError(
                    "There is no model to download yet; it is written when it is finished, or has scored all texts."
                )
            self._files: dict[Path, BinaryIO] = dict(files)
            self._opened = opened.pop_all()

    def parts(self) -> Iterator[bytes]:
        """The ZIP file, uncompressed: weights hardly get smaller."""
        outlet = _Outlet()
        with self._opened, zipfile.ZipFile(outlet, "w", zipfile.ZIP_STORED) as archive:
            for name, file in self._files.items():
                entry = zipfile.ZipInfo(f"model/{name.as_posix()}", _TIME)
                entry.external_attr = 0o644 << 16
                with archive.open(entry, "w", force_zip64=True) as target:
                    while part := file.read(PART_BYTES):
                        target.write(part)
                        yield outlet.take()
        yield outlet.take()


class _Outlet(io.RawIOBase):
    """Where a ZIP file is written to that cannot go back in it: what was written is taken from here."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self._parts.append(part)
        return len(part)

    def take(self) -> bytes:
        written = b"".join(self._parts)
        self._parts.clear()
        return written
