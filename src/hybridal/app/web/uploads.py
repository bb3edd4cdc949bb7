"""A file that somebody sends: bounded, kept for a moment, and gone."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.datastructures import UploadFile

from hybridal.errors import UserError


@contextmanager
def kept(upload: UploadFile) -> Iterator[Path]:
    """The file on disk, under its own name; an error that names it does not tell where it lay."""
    name = re.sub(r"[^\w.-]", "_", Path(upload.filename or "file").name)[-100:] or "file"
    with tempfile.TemporaryDirectory(prefix="hybridal-") as folder:
        path = Path(folder) / name
        with path.open("wb") as target:
            shutil.copyfileobj(upload.file, target)
        try:
            yield path
        except UserError as error:
            raise UserError(str(error).replace(str(path), name)) from error
