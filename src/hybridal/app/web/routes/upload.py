"""More texts, out of a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, UploadFile

from hybridal.app.labelling.source import read_source
from hybridal.app.labelling.texts import add_in_parts
from hybridal.app.web.access import Opened, Owner
from hybridal.app.web.shapes import Shape
from hybridal.app.web.unpacked import insist
from hybridal.app.web.uploads import kept
from hybridal.errors import UserError
from hybridal.tasks.table import NoColumnError

router = APIRouter(prefix="/api/texts")

MOST_ROWS = 1_000_000
Column = Annotated[str, Form(max_length=200)]


class Added(Shape):
    """How many texts are new, and how many were there already."""

    added: int
    known: int


@router.post("")
def add(file: UploadFile, _: Owner, project: Opened, text: Column = "", label: Column = "", id: Column = "") -> Added:
    """Adds the texts of a CSV, TSV, JSONL or Parquet file; `text`, `label` and `id` name its columns."""
    with kept(file) as path:
        insist(path, MOST_ROWS)
        try:
            source = read_source(path, text=text or None, label=label or None, id=id or None, most=MOST_ROWS)
        except NoColumnError as error:
            raise UserError(f"{error.found}: name yours in the fields Column of texts, of labels or of ids.") from error
    made = add_in_parts(project.sessions, source.rows, numbered=source.numbered)
    return Added(added=made.added, known=made.known)
