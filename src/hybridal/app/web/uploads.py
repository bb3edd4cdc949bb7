"""A file that somebody sends: bounded, kept for a moment, and gone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.datastructures import UploadFile

from hybridal.errors import UserError
from hybridal.system.scratch import scratch


@contextmanager
def kept(upload: UploadFile) -> Iterator[Path]:
    """The file on disk, under its own name; an error that names it does not tell where it lay."""
    # At most 70 characters: of up to three bytes each, more would be too long a name for some file systems.
    name = re.sub(r"[^\w.-]", "_", Path(upload.filename or "").name)[-70:].lstrip(".") or "file"
    with scratch() as folder:
        path = folder / name
        with path.open("wb") as target:
            shutil.copyfileobj(upload.file, target)
        try:
            yield path
        except UserError as error:
            raise type(error)(str(error).replace(str(path), name)) from error
