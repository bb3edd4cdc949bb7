"""Files to download: labels and predictions as CSV, JSONL or Parquet, and the model folder as a ZIP file."""

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
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, Class, Consensus, LabelSet, Person, Prediction, Text, Vote
from hybridal.app.labelling.classes import current
from hybridal.app.labelling.comments import comment_lines
from hybridal.app.labelling.stored_class_sets import class_names, decisions_named, named
from hybridal.app.labelling.texts import in_pages
from hybridal.app.project import MODEL_FOLDER, Project
from hybridal.app.project_settings import read
from hybridal.app.vectors import StoredVectors
from hybridal.sentences import translatable
from hybridal.system.files import strict_json

# Spreadsheets run cells that start with one of these; some treat the full-width forms like the plain ones.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_ROWS_PER_PAGE = 500


def escape_formula(value: str) -> str:
    """The text, with a leading apostrophe if a spreadsheet would run it as a formula.

    >>> escape_formula("=HYPERLINK(...)"), escape_formula("1 = 1")
    ("'=HYPERLINK(...)", '1 = 1')
    """
    return f"'{value}" if value.startswith(_FORMULA_STARTS) else value


Escape = Callable[[str], str]


def csv_parts(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], escape: Escape = str) -> Iterator[str]:
    """A CSV file in parts; lists and objects are written as JSON, and `escape` is applied to strings.

    >>> "".join(csv_parts(["id", "n"], [{"id": "-1", "n": 2}, {"id": "a", "n": None}])).splitlines()
    ['id,n', '-1,2', 'a,']
    >>> "".join(csv_parts(["id"], [{"id": "-1"}], escape_formula)).splitlines()
    ['id', "'-1"]
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(escape, columns))
    for at, row in enumerate(rows, start=1):
        writer.writerow([_cell(row[column], escape) for column in columns])
        if at % _ROWS_PER_PAGE == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any, escape: Escape) -> Any:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return strict_json(value) if isinstance(value, list | dict) else value


PART_BYTES = 1 << 20


def file_parts(file: BinaryIO) -> Iterator[bytes]:
    """The rest of an open file in parts; closes it at the end.

    >>> import io
    >>> list(file_parts(io.BytesIO(b"abc")))
    [b'abc']
    """
    with file:
        while part := file.read(PART_BYTES):
            yield part


COLUMNS = (
    *("id", "text", "label", "group", "source", "split", "drawn", "flagged", "comments", "at", "codebook"),
    "annotations",
)


def label_rows(sessions: Sessions) -> Iterable[dict[str, Any]]:
    """All texts that were labelled or skipped, in the order in which they were added; each iteration reads them again.

    `label` is None if people disagree or only skipped; `group` is the group of its class, `codebook` the version of the
    codebook by which it was given; `drawn` says how the first annotator came to the text (see
    `Annotation`; language models count only if no person labelled it); `at` is the time of the last annotation;
    `annotations` has the current annotation of each person. The other columns of the uploaded files follow, None if a
    text has no value.

    If a text may have several classes, `label` is a list of them, or an object of booleans if only some are decided.
    """
    return _LabelRows(sessions)


class _LabelRows:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._sessions() as session:
            settings = read(session)
            names = class_names(session) if settings["multi_label"] else None
            groups = {one.name: one.group for one in current(session) if one.group}
        columns = {name: f"{name} (file)" if name in COLUMNS else name for name in settings["columns"]}
        for rows in in_pages(self._sessions, _page, lambda row: row[0].row):
            with self._sessions() as session:
                addressed = comment_lines(session, [*{row[0].row for row in rows}])
            for text, group in groupby(rows, key=lambda row: row[0]):
                context = text.context or {}
                yield _label_row(text, [*group], names, groups, addressed.get(text.row, [])) | {
                    shown: context.get(name) for name, shown in columns.items()
                }


_FIRST_DRAWN = (
    select(Annotation.drawn)
    .join(Person)
    .where(Annotation.text_row == Text.row, Annotation.action == "label")
    .order_by(Person.kind == "llm", Annotation.number)
    .limit(1)
    .correlate(Text)
    .scalar_subquery()
)


_LAST = aliased(Annotation)
_VERSION = (
    select(_LAST.codebook).where(_LAST.number == Consensus.annotation_number).correlate(Consensus).scalar_subquery()
)


def _page(session: Session, last: int) -> list[Any]:
    voted, agreed = aliased(Class), aliased(Class)
    voted_set, agreed_set = aliased(LabelSet), aliased(LabelSet)
    answered = select(Vote.text_row).join(Text).where(Vote.text_row > last, Text.deleted.is_(None)).distinct()
    page = answered.order_by(Vote.text_row).limit(_ROWS_PER_PAGE).subquery()
    rows = session.execute(
        select(Text, Consensus.source, agreed.name, agreed_set.classes, Annotation, Person.name)
        .add_columns(voted.name, voted_set.classes, _FIRST_DRAWN, _VERSION)
        .join(page, page.c.text_row == Text.row)
        .join(Vote, Vote.text_row == Text.row)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .join(Person, Person.number == Vote.person_number)
        .outerjoin(voted, voted.number == Vote.class_number)
        .outerjoin(voted_set, voted_set.number == Vote.label_set)
        .outerjoin(Consensus, Consensus.text_row == Text.row)
        .outerjoin(agreed, agreed.number == Consensus.class_number)
        .outerjoin(agreed_set, agreed_set.number == Consensus.label_set)
        .order_by(Text.row, Annotation.number)
    )
    return [*rows]


def _label_row(
    text: Text,
    rows: list[Any],
    names: Mapping[int, str] | None,
    groups: Mapping[str, str],
    addressed: Sequence[str],
) -> dict[str, Any]:
    _, source, label, classes, *_, drawn, version = rows[0]
    remarks = [f"{person}: {one.comment}" for *_, one, person, _, _, _, _ in rows if one.comment]
    annotations = [
        {
            "person": person,
            "action": "adjudicate" if one.decides else one.action,
            **({"class": name} if names is None else _set_fields(given, names)),
            "flagged": one.flagged,
            "reason": one.reason,
            "comment": one.comment,
            "drawn": one.drawn,
            "codebook": one.codebook,
            "at": iso_time(one.at),
        }
        for *_, one, person, name, given, _, _ in rows
    ]
    return {
        "id": text.id,
        "text": text.body,
        "label": label if classes is None or names is None else exported_set(classes, names),
        "group": groups.get(label) if classes is None or names is None else _groups_of(named(classes, names), groups),
        "source": source,
        "split": text.split,
        "drawn": drawn,
        "flagged": any(one["flagged"] for one in annotations),
        "comments": "\n".join([*remarks, *addressed]),
        "at": max(one["at"] for one in annotations),
        "codebook": version,
        "annotations": annotations,
    }


def _groups_of(present: Sequence[str], groups: Mapping[str, str]) -> list[str]:
    """The groups of the classes that a text has, each once.

    >>> _groups_of(["a", "b", "c"], {"a": "one", "b": "one"})
    ['one']
    """
    return [*dict.fromkeys(groups[name] for name in present if name in groups)]


def exported_set(classes: ClassSet, names: Mapping[int, str]) -> list[str] | dict[str, bool]:
    """The classes of a text as a list, or as an object of those that are decided.

    >>> exported_set(ClassSet.of([2]), {1: "bug", 2: "idea"}), exported_set(ClassSet.partial({1: False}), {1: "bug"})
    (['idea'], {'bug': False})
    """
    decisions = decisions_named(classes, names)
    return (
        named(classes, names)
        if decisions is None
        else {name: has for name, has in decisions.items() if has is not None}
    )


def _set_fields(classes: ClassSet | None, names: Mapping[int, str]) -> dict[str, Any]:
    """The fields of an annotation: all classes, or the decided ones; both are None for a skip."""
    given = None if classes is None else exported_set(classes, names)
    return {
        "classes": given if isinstance(given, list) else None,
        "decisions": given if isinstance(given, dict) else None,
    }


def iso_time(seconds: float) -> str:
    """A time in ISO 8601.

    >>> iso_time(0.0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


Rows = Iterable[Mapping[str, Any]]


def labels_csv(rows: Rows, escape: Escape = str) -> Iterator[bytes]:
    """Label rows as CSV; annotations are JSON."""
    columns, rows = _columns(rows, COLUMNS)
    return (part.encode() for part in csv_parts(columns, rows, escape))


def labels_jsonl(rows: Rows) -> Iterator[bytes]:
    """Label rows as JSON lines."""
    for batch in _batches(rows):
        yield "".join(strict_json(row) + "\n" for row in batch).encode()


def labels_parquet(rows: Rows) -> Iterator[bytes]:
    """Label rows as Parquet; they are read twice.

    If a text may have several classes, labels are a column of lists. A column cannot hold lists and objects, so labels
    are JSON if any of them decides only some of the classes.
    """
    import pyarrow as pa

    string, boolean, several = pa.string(), pa.bool_(), pa.list_(pa.string())
    kinds = _label_types(rows)
    of_set = {"classes": several, "decisions": pa.map_(string, boolean)} if kinds - {str} else {"class": string}
    label = (
        dict.fromkeys(("person", "action", *of_set, "reason", "comment", "drawn", "at"), string)
        | of_set
        | {"flagged": boolean}
    )
    columns, rows = _columns(rows, COLUMNS)
    label["codebook"] = pa.int64()
    types = {"flagged": boolean, "annotations": pa.list_(pa.struct([*label.items()])), "codebook": pa.int64()}
    types |= {"group": several} if kinds - {str} else {}
    types |= {"label": several} if kinds == {list} else {}
    if dict in kinds:
        rows = ({**row, "label": None if row["label"] is None else strict_json(row["label"])} for row in rows)
    return _parquet(pa.schema([(column, types.get(column, string)) for column in columns]), rows)


def _label_types(rows: Rows) -> set[type]:
    """The types of labels: names, lists, or lists and objects."""
    found: set[type] = set()
    for row in rows:
        found |= {type(row["label"])} - {type(None)}
        found |= {list for one in row["annotations"] if "classes" in one}
        if found in ({str}, {list, dict}):
            break
    return found


def _parquet(schema: Any, rows: Rows) -> Iterator[bytes]:
    """Write a Parquet file to a temporary file and then send it, because its footer must be written last."""
    import pyarrow as pa
    from pyarrow import parquet

    file = tempfile.TemporaryFile()  # noqa: SIM115
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(rows):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    file.seek(0)
    return file_parts(file)


LABEL_FORMATS: Mapping[str, Callable[[Rows], Iterator[bytes]]] = {
    "csv": labels_csv,
    "spreadsheet.csv": partial(labels_csv, escape=escape_formula),
    "jsonl": labels_jsonl,
    "parquet": labels_parquet,
}


def _columns(rows: Rows, default: Sequence[str]) -> tuple[Sequence[str], Rows]:
    """The columns of the first row, or the default ones if there are no rows; and all rows."""
    rest = iter(rows)
    first = next(rest, None)
    return (default, ()) if first is None else ([*first], chain([first], rest))


def _batches(rows: Rows) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS_PER_PAGE:
            yield batch
            batch = []
    if batch:
        yield batch


def prediction_rows(project: Project) -> Iterator[dict[str, Any]]:
    """The prediction for each scored text: its class, all probabilities, and the round of the model that scored it.

    If a text may have several classes, `labels` is the list of those whose probability reached their threshold.
    """
    kept = project.probabilities.read()
    if kept is None:
        raise MissingError(translatable("No text has been scored yet; label some texts first."))
    with project.reads() as session:
        names = dict(session.execute(select(Class.number, Class.name)).all())
    classes = [names[number] for number in kept.about["classes"]]
    return _prediction_lines(project.reads, kept, classes)


def _prediction_lines(sessions: Sessions, kept: StoredVectors, classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    with sessions() as session:
        names = class_names(session) if read(session)["multi_label"] else None
    for page in in_pages(sessions, _predicted_page, lambda text: int(text.row)):
        for text in page:
            if text.row < len(kept.stamps) and kept.stamps[text.row]:
                probabilities = kept.values[text.row].tolist()
                best = max(range(len(probabilities)), key=probabilities.__getitem__)
                prediction = {"id": text.id, "class": classes[best], "probability": probabilities[best]}
                if names is not None:
                    given = text.classes
                    prediction = {"id": text.id, "labels": [] if given is None else named(given, names)}
                by_class = {f"p({name})": value for name, value in zip(classes, probabilities, strict=True)}
                yield {**prediction, **by_class, "round": int(kept.stamps[text.row]) - 1}


def _predicted_page(session: Session, last: int) -> Sequence[Any]:
    after = select(Text.row, Text.id, LabelSet.classes).where(Text.row > last, Text.deleted.is_(None))
    after = after.outerjoin(Prediction, Prediction.text_row == Text.row)
    after = after.outerjoin(LabelSet, LabelSet.number == Prediction.label_set)
    return session.execute(after.order_by(Text.row).limit(_ROWS_PER_PAGE)).all()


def predictions_csv(rows: Rows, escape: Escape = str) -> Iterator[bytes]:
    """Prediction rows as CSV."""
    columns, rows = _columns(rows, PREDICTION_COLUMNS)
    return (part.encode() for part in csv_parts(columns, rows, escape))


def predictions_parquet(rows: Rows) -> Iterator[bytes]:
    """Prediction rows as Parquet."""
    import pyarrow as pa

    columns, rows = _columns(rows, PREDICTION_COLUMNS)
    types = {"id": pa.string(), "class": pa.string(), "labels": pa.list_(pa.string()), "round": pa.int64()}
    return _parquet(pa.schema([(column, types.get(column, pa.float64())) for column in columns]), rows)


PREDICTION_COLUMNS = ("id", "class", "probability", "round")
PREDICTION_FORMATS: Mapping[str, Callable[[Rows], Iterator[bytes]]] = {
    "csv": predictions_csv,
    "spreadsheet.csv": partial(predictions_csv, escape=escape_formula),
    "parquet": predictions_parquet,
}

# The earliest time that ZIP allows: constant, so that equal files make equal archives.
_ENTRY_TIME = (1980, 1, 1, 0, 0, 0)


class ModelArchive:
    """The files of the newest model, all opened together, so that a model that replaces it is not mixed in."""

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
                    translatable(
                        "There is no model to download yet; it is available once it is finished or has scored all "
                        "texts."
                    )
                )
            self._files: dict[Path, BinaryIO] = dict(files)
            self._opened = opened.pop_all()

    def parts(self) -> Iterator[bytes]:
        """The ZIP file in parts; uncompressed, because weights hardly get smaller."""
        buffer = WriteBuffer()
        with self._opened, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, file in self._files.items():
                entry = zipfile.ZipInfo(f"model/{name.as_posix()}", _ENTRY_TIME)
                entry.external_attr = 0o644 << 16
                with archive.open(entry, "w", force_zip64=True) as target:
                    while part := file.read(PART_BYTES):
                        target.write(part)
                        yield buffer.take()
        yield buffer.take()


class WriteBuffer(io.RawIOBase):
    """A file that cannot seek; `take` returns what was written since the last call."""

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
