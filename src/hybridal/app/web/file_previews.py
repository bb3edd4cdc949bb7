"""Previews of uploaded files: the form fields of a request, and what the file would add."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Form, Request, UploadFile
from pydantic import Field, StringConstraints

from hybridal.app.labelling.text_source import Source, preview_file, read_source
from hybridal.app.web.held_files import HeldFiles
from hybridal.app.web.schemas import Schema
from hybridal.errors import UserError
from hybridal.tasks.columns import Columns
from hybridal.tasks.table import NoColumnError


def held_files(request: Request) -> HeldFiles:
    """The previewed files of this app."""
    found: HeldFiles = request.app.state.held
    return found


MAX_ROWS = 1_000_000
Column = Annotated[str, Form(max_length=200)]
Choice = Annotated[bool, Form()]
LabelColumns = Annotated[
    list[Annotated[str, StringConstraints(max_length=200)]],
    Form(description="The column of labels; several columns hold 0 or 1 for each class."),
]
Separator = Annotated[
    str, Form(max_length=20, description="What stands between the classes of a text, if it may have several.")
]
Upload = Annotated[str, Form(max_length=50, description="Instead of a file: the token of one that was previewed.")]
Held = Annotated[HeldFiles, Depends(held_files)]


class PreviewSchema(Schema):
    """The columns and first rows of a file, the chosen columns, and what an upload would add; see `preview_file`.

    The server keeps the file for half an hour; `upload` is its token.
    """

    upload: str
    columns: list[str]
    first: list[list[str]]
    text: str
    label: str | list[str] | None
    id: str | None
    rows: int
    empty: int
    duplicates: int
    labelled: int = Field(description="How many rows have a label.")
    labels: dict[str, int]
    descriptions: dict[str, str] = Field(description="What a column says of the classes.")
    multi_label: bool = Field(description="Whether a text of the file may have several classes.")
    problem: str
    notices: list[str]


def preview_upload(
    held: HeldFiles,
    person: int,
    file: UploadFile | None,
    upload: str,
    chosen: Columns | None,
    multi_label: bool | None = None,
    label_separator: str = "",
    description: str = "",
) -> PreviewSchema:
    """Preview a file, and keep it until its texts are added.

    Args:
        held: The files of this app.
        person: The number of the person who sent it.
        file: The file.
        upload: Instead of a file: the token of one that was previewed before.
        chosen: Its columns; None guesses them.
        multi_label: Whether a text may have several classes; None if the labels tell.
        label_separator: What stands between the classes in a cell.
        description: The column that describes the class of each row, or "".

    Returns:
        The preview, with the token of the file.

    Raises:
        UserError: The file cannot be read.
    """
    token = upload if file is None else held.hold(file, person)
    try:
        with held.opened(token, person) as kept:
            path = kept.path
            found = preview_file(path, chosen, MAX_ROWS, multi_label, label_separator or None, description or None)
    except UserError:
        if file is not None:
            held.drop(token)
        raise
    # Do not reveal the temporary folder of the file.
    problem, *notices = (one.replace(str(path), path.name) for one in (found.problem, *found.notices))
    facts = {**vars(found), **vars(found.chosen), "problem": problem, "notices": notices}
    del facts["chosen"]
    return PreviewSchema(upload=token, **facts)


def chosen_columns(text: str, label: list[str], id: str) -> Columns | None:
    """The columns that a request names; None if it names none, so that they are guessed."""
    return Columns(text, label_columns(label), id or None) if text else None


def label_columns(label: list[str]) -> str | tuple[str, ...] | None:
    """The label column, or several indicator columns; pages send an empty name for none.

    >>> label_columns([""]), label_columns(["kind"]), label_columns(["bug", "idea"])
    (None, 'kind', ('bug', 'idea'))
    """
    names = tuple(filter(None, label))
    return (names[0] if len(names) == 1 else names) if names else None


def read_upload(path: Path, text: str, label: list[str], id: str, **options: Any) -> Source:
    """Read the texts of an uploaded file.

    Args:
        path: The file.
        text: The column of the texts; "" is `text`.
        label: The columns of labels.
        id: The column of ids, or "".
        options: Others of `read_source`.

    Raises:
        UserError: The file cannot be read with these columns.
    """
    try:
        return read_source(path, text=text or None, label=label_columns(label), id=id or None, most=MAX_ROWS, **options)
    except NoColumnError as error:
        raise UserError(f"{error.found}: choose the columns of texts, labels and ids.") from error
