"""Hypothesis strategies for files that importers read: well-formed, odd, and damaged."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet
from hypothesis import reject
from hypothesis import strategies as st
from openpyxl import Workbook

_ODD = (
    *(
        "",
        " ",
        "\0",
        "\ufeff",
        "\u200b",
        "\u2028",
        "\r",
        "\n",
        "\r\n",
        '"',
        '""',
        "'",
        ",",
        ";",
        "\t",
        "é",
        "😀",
        "e\u0301",
    ),
    *("=1+1", "@x", "-1", "nan", "null", "None", "true", "1e999", "0", "3.0", "../../x", "a" * 300, "\x1b[31m", "<b>"),
)
WORDS = st.one_of(st.sampled_from(_ODD), st.text(max_size=12), st.text("ab \n,;\t\"'", max_size=12))
NAMES = st.one_of(st.sampled_from(["text", "label", "id", "Text ", "", "note", "text"]), WORDS)


@st.composite
def damaged(draw: st.DrawFn, files: st.SearchStrategy[bytes]) -> bytes:
    """A file, in which often some bytes are overwritten, inserted, doubled or cut off."""
    data = bytearray(draw(files))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 8))
        match draw(st.sampled_from(["overwrite", "insert", "double", "cut", "end"])):
            case "overwrite":
                data[at : at + length] = draw(st.binary(min_size=length, max_size=length))
            case "insert":
                data[at:at] = draw(st.binary(max_size=8))
            case "double":
                data[at:at] = data[max(0, at - 50) : at] * draw(st.sampled_from([1, 2, 1000]))
            case "cut":
                del data[at : at + length]
            case "end":
                del data[at:]
    return bytes(data)


@st.composite
def delimited(draw: st.DrawFn, delimiters: str = ",;\t") -> bytes:
    """Rows of cells with a header, in one of the encodings and dialects that spreadsheets write."""
    header = draw(st.lists(NAMES, min_size=1, max_size=4))
    rows = draw(st.lists(st.lists(WORDS, min_size=len(header), max_size=len(header)), max_size=6))
    table = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if draw(st.booleans()) else csv.QUOTE_MINIMAL
    ends = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    writer = csv.writer(table, delimiter=draw(st.sampled_from(delimiters)), quoting=quoting, lineterminator=ends)
    writer.writerows([header, *rows])
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    return table.getvalue().encode(encoding, errors="replace")


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.sampled_from(["\ud800", "a\udfffb", 10**400])
)
JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
_OBJECT = st.dictionaries(NAMES, JSON, max_size=4) | st.fixed_dictionaries(
    {"text": WORDS | JSON}, optional={"label": JSON, "id": JSON, "note": JSON}
)
_DEEP = st.sampled_from(["[", '{"text":', '[{"text":']).map(lambda opening: (opening * 100_000).encode())


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


ARRAYS = st.lists(_OBJECT | JSON, max_size=5).map(_json) | JSON.map(_json) | _DEEP
LINES = st.lists(_OBJECT | JSON, max_size=5).map(lambda values: b"\n".join(map(_json, values))) | _DEEP

_CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes(datetime(1900, 3, 1), datetime(9999, 1, 1)),
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["=1/0", "#N/A", "text", "label", "id", "x" * 1000]),
)


def _workbook(rows: list[list[Any]]) -> bytes:
    book, file = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


# What a sheet's XML can hold that openpyxl itself would not write.
_XML = (
    *('<c r="A1" t="s"><v>99999</v></c>', '<c r="A1" t="n"><v>x</v></c>', '<c r="A1" t="d"><v>9999-99-99</v></c>'),
    *('<c r="ZZZZ1"><v>1</v></c>', '<c r="A0"><v>1</v></c>', '<row r="99999999999"/>', '<row r="-1"/>', '<row r="x"/>'),
    *('<c r="A1" s="999"><v>1e308</v></c>', '<c t="e"><v>#REF!</v></c>', '<c t="inlineStr"/>', "<f>1+1</f>", "&x;"),
    *('<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "<v></v>", '<mergeCell ref="A1:XFD1048576"/>'),
    *('<dimension ref="A1:ZZZ99999999"/>', '<c r="A1" t="b"><v>7</v></c>', '<c r="A1" s="1"><v>-1e20</v></c>'),
)


@st.composite
def workbooks(draw: st.DrawFn) -> bytes:
    """An Excel file, often with one part of its archive damaged, missing, or with XML that no program writes."""
    rows = draw(st.lists(st.lists(_CELLS, max_size=4), max_size=5))
    header = draw(st.lists(st.sampled_from(["text", "label", "id", "", None]), max_size=4))
    with zipfile.ZipFile(io.BytesIO(_workbook([header, *rows]))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["docProps/core.xml"] = b"<coreProperties/>"  # else it holds the time, and no input could be made again
    if draw(st.booleans()):
        return _archive(parts)
    name = draw(st.sampled_from(sorted(parts)))
    part, at = parts[name], draw(st.integers(0, len(parts[name])))
    tags = [place for place in range(len(part)) if part[place : place + 1] == b"<"] or [0]
    match draw(st.sampled_from(["insert", "replace", "lose", "damage"])):
        case "insert":
            at = draw(st.sampled_from(tags))
            parts[name] = part[:at] + draw(st.sampled_from(_XML)).encode() + part[at:]
        case "replace":
            old, new = draw(st.sampled_from([("1", "-1"), ("A1", ""), ('t="s"', 't="?"'), ("<v>", "<v>9e9")]))
            parts[name] = part.replace(old.encode(), new.encode())
        case "lose":
            del parts[name]
        case "damage":
            parts[name] = part[:at] + draw(st.binary(max_size=6)) + part[at + 3 :]
    return _archive(parts)


def _archive(parts: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    return file.getvalue()


@cache
def _columns() -> Mapping[pa.DataType, st.SearchStrategy[Any]]:
    """Values by their type, some of which Python's own types cannot hold."""
    whole = st.integers(-(2**63), 2**63 - 1)
    words = st.text(max_size=8)
    return {
        pa.string(): WORDS,
        pa.large_string(): words,
        pa.dictionary(pa.int32(), pa.string()): words,
        pa.string_view(): words,
        pa.binary(): st.binary(max_size=8),
        pa.int64(): whole,
        pa.uint8(): st.integers(0, 255),
        pa.float64(): st.floats(),
        pa.bool_(): st.booleans(),
        pa.null(): st.none(),
        pa.date32(): st.dates(date(1, 1, 1)),
        pa.timestamp("ns"): whole,
        pa.timestamp("s"): whole,
        pa.timestamp("us", "Europe/Berlin"): st.datetimes(timezones=st.just(UTC)) | whole,
        pa.timestamp("us", "Mars/Phobos"): whole,
        pa.time64("ns"): st.times() | st.just(time(23, 59)),
        pa.duration("ns"): whole | st.just(timedelta(1)),
        pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2) | st.just(Decimal("1.50")),
        pa.list_(pa.string()): st.lists(words, max_size=3),
        pa.list_(pa.dictionary(pa.int32(), pa.string())): st.lists(words, max_size=3),
        pa.list_(pa.int8(), 2): st.lists(st.integers(0, 9), min_size=2, max_size=2),
        pa.list_view(pa.string()): st.lists(words, max_size=3),
        pa.struct([("a", pa.string())]): st.fixed_dictionaries({"a": words}),
        pa.map_(pa.string(), pa.int64()): st.lists(st.tuples(words, whole), max_size=2),
    }


@st.composite
def parquet_files(draw: st.DrawFn) -> bytes:
    """A table of columns of any type, with nulls."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4))
    rows = draw(st.integers(0, 5))
    arrays = []
    for _ in names:
        kind = draw(st.sampled_from(sorted(_columns(), key=str)))
        values = draw(st.lists(_columns()[kind] | st.none(), min_size=rows, max_size=rows))
        try:
            arrays.append(pa.array(values, kind))
        except (pa.ArrowException, OverflowError, ValueError):
            arrays.append(pa.array(["x"] * rows, pa.string()))
    file = io.BytesIO()
    try:
        pa.parquet.write_table(pa.table(arrays, names=names), file)
    except pa.ArrowException:
        reject()
    return file.getvalue()


_CHOICE = st.fixed_dictionaries(
    {"value": st.fixed_dictionaries({"choices": st.lists(WORDS | JSON, max_size=2)}) | JSON},
    optional={"from_name": JSON, "to_name": JSON, "type": JSON, "meta": JSON},
)
_ANNOTATION = JSON | st.fixed_dictionaries(
    {"result": st.lists(_CHOICE | JSON, max_size=3) | JSON},
    optional=dict.fromkeys(("id", "completed_by", "updated_at", "created_at", "was_cancelled", "ground_truth"), JSON),
)
_TASK = st.fixed_dictionaries(
    {"data": st.fixed_dictionaries({"text": WORDS}, optional={"hybridal_id": JSON, "note": JSON}) | JSON},
    optional={"id": JSON, "annotations": st.lists(_ANNOTATION, max_size=3) | JSON, "completions": JSON},
)
TASKS = st.one_of(st.lists(_TASK | JSON, max_size=4), JSON, st.fixed_dictionaries({"tasks": st.lists(_TASK)})).map(
    _json
)

FILES: Mapping[str, Callable[[], st.SearchStrategy[bytes]]] = {
    "csv": lambda: damaged(delimited()),
    "tsv": lambda: damaged(delimited("\t")),
    "json": lambda: damaged(ARRAYS),
    "jsonl": lambda: damaged(LINES),
    "xlsx": lambda: damaged(workbooks()) | workbooks(),
    "parquet": lambda: damaged(parquet_files()) | parquet_files(),
}
