"""Write a whole project as one file, to import it on another server or as a copy.

The file is a ZIP of `project.json` and one JSON Lines file per table, the same for SQLite and PostgreSQL, and the model
if it is asked for. It is written while it is sent: neither tables nor weights are ever in memory as a whole.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from itertools import chain
from typing import Any

from sqlalchemy import Row, Table, select

from hybridal.app import project_settings
from hybridal.app.exchange.archive_tables import (
    FORMAT,
    ROWS_PER_CHUNK,
    SETTINGS_NOT_EXPORTED,
    VERSION,
    columns_of,
    exported_tables,
    json_line,
    plain,
    revision,
)
from hybridal.app.exchange.model_export import model_members, snapshot_with_model
from hybridal.app.exchange.table_files import WriteBuffer
from hybridal.app.project import Project


def archive_parts(project: Project, *, with_model: bool = False) -> Iterator[bytes]:
    """Return an archive of a project in parts, as of one moment; people may go on labelling meanwhile.

    Args:
        project: The project.
        with_model: Also write the model of its last complete round, if there is one, with its queue and predictions.

    Raises:
        UserError: The files of the model cannot be read.
    """
    parts = _parts(project, with_model)
    return chain([next(parts)], parts)  # what is refused is an error, not a broken file


def _parts(project: Project, with_model: bool) -> Iterator[bytes]:
    buffer = WriteBuffer()
    with (
        snapshot_with_model(project, with_model) as (session, model),
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        name = project_settings.read(session)["name"]
        about = {"format": FORMAT, "version": VERSION, "tables": revision(), "name": name}
        archive.writestr("project.json", json.dumps(about, ensure_ascii=False, indent=2))
        for table in exported_tables().values():
            columns = columns_of(table)
            rows = session.connection().execute(
                select(*columns).order_by(*table.primary_key.columns), execution_options={"yield_per": ROWS_PER_CHUNK}
            )
            with archive.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as entry:
                entry.write(json_line([column.name for column in columns]))
                for chunk in rows.partitions():
                    wanted = (row for row in chunk if _is_exported(table, row))
                    entry.write(b"".join(json_line([plain(value) for value in row]) for row in wanted))
                    yield buffer.take()
        if model is not None:
            for _ in model_members(archive, project, session, model):
                yield buffer.take()
    yield buffer.take()


def _is_exported(table: Table, row: Row[Any]) -> bool:
    return table.name != "settings" or row.name not in SETTINGS_NOT_EXPORTED
