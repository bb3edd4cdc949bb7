"""The tables of a project's archive: which they are, and their rows as lines of JSON.

An archive has no passwords, tokens, invitations and webhooks, and nothing that follows from the model, which is
another part (`model_export.py`).
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, Integer, Table
from sqlalchemy.exc import SQLAlchemyError

from hybridal.app.db.class_set import ClassSet, decode_set
from hybridal.app.db.migrations import MIGRATIONS
from hybridal.app.db.schema import REASONS, Base, EncodedSet
from hybridal.errors import UserError
from hybridal.sentences import translatable

FORMAT, VERSION = "hybridal project", 1
ROWS_PER_CHUNK = 1000
NOT_AN_EXPORT = translatable("This file is not the export of a project.")
OTHER_VERSION = translatable(
    "The project was exported with another version of hybridal; use the same version on both servers."
)

NOT_EXPORTED = frozenset(
    {
        *("invitations", "login_sessions", "access_tokens", "webhooks", "deliveries"),  # secrets
        "audit_log",  # says what was done on this server
        *("leases", "trainer", "scoring", "predictions", "queued_texts"),  # follow from the model, or are short-lived
        "explanations",
    }
)
_COLUMNS_NOT_EXPORTED = frozenset({("people", "password"), ("texts", "folded"), ("texts", "digest")})
SETTINGS_NOT_EXPORTED = frozenset({"key", "llm", "device", "settled", "grouped"})
_VALUES: Mapping[tuple[str, str], frozenset[str]] = {
    ("people", "role"): frozenset({"owner", "reviewer", "annotator"}),
    ("people", "kind"): frozenset({"person", "file", "llm"}),
    ("texts", "split"): frozenset({"pool", "validation"}),
    ("classes", "archived"): frozenset({"", "kept", "out", "deleted"}),
    ("annotations", "action"): frozenset({"label", "skip", "withdraw"}),
    ("rechecks", "state"): frozenset({"open", "done", "dismissed"}),
    ("annotations", "reason"): frozenset({"", *REASONS}),
}


def exported_tables() -> dict[str, Table]:
    """The tables of an archive by name, each after those that it refers to."""
    return {table.name: table for table in Base.metadata.sorted_tables if table.name not in NOT_EXPORTED}


def columns_of(table: Table) -> list[Column[Any]]:
    """The columns of a table that an archive has."""
    return [column for column in table.columns if (table.name, column.name) not in _COLUMNS_NOT_EXPORTED]


def plain(value: Any) -> Any:
    """A value as JSON."""
    return value.encode() if isinstance(value, ClassSet) else value


def json_line(values: Sequence[Any]) -> bytes:
    """A line of a table's file."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def revision() -> str:
    """The version of the tables."""
    return str(MIGRATIONS.get_current_head())


_DAMAGED = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OverflowError, RuntimeError, OSError)


@contextmanager
def readable() -> Iterator[None]:
    """Turn what a damaged or hostile file raises into one sentence."""
    try:
        yield
    except UserError:
        raise
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise UserError(f"The export cannot be read ({reason:.100}); export the project again.") from error
    except SQLAlchemyError as error:
        raise UserError("The export contradicts itself, so it was not imported; export the project again.") from error


def checked_value(value: Any, column: Column[Any]) -> Any:
    """Check that a value has the type of its column."""
    where = f"{column.table.name}.{column.name}"
    if value is None:
        if not column.nullable:
            raise ValueError(f"{where} is missing")
        return None
    kind = column.type
    if isinstance(kind, JSON):
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # no half characters
        return value
    if isinstance(kind, Boolean):
        fits = isinstance(value, bool)
    elif isinstance(kind, Float):
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    elif isinstance(kind, Integer):
        fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    else:
        fits = isinstance(value, str) and bool(value.encode() or True)
    allowed = _VALUES.get((column.table.name, column.name))
    if not fits or (allowed is not None and value not in allowed):
        raise ValueError(f"{where} cannot be {value!s:.40}")
    return decode_set(value) if isinstance(kind, EncodedSet) else value
