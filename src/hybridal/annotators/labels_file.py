"""An annotator that watches a CSV file in which a person labels."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from hybridal.core.observer import Observer
from hybridal.errors import UserError, reason
from hybridal.system.files import write_whole
from hybridal.tasks.answers import Answer
from hybridal.tasks.encoding import opened
from hybridal.tasks.file_formats import delimiter_of
from hybridal.tasks.label_cells import CellReader, write_cell
from hybridal.tasks.table import list_names


class UnreadableError(UserError):
    """The file is not a table now; it may be half saved."""


def rows_of(path: Path) -> list[dict[str, str]] | None:
    """Return the rows of a labels file, [] if there is no file yet, None if it changed while it was read.

    Raises:
        UnreadableError: The file is not a table in a known encoding.
        UserError: The file lacks one of the two columns.
    """
    try:
        before = path.read_bytes()
        with opened(path, newline="") as file:
            rows = list(csv.DictReader(file, delimiter=delimiter_of(file)))
        if path.read_bytes() != before:
            return None
    except FileNotFoundError:
        return []
    except UserError as error:
        raise UnreadableError(str(error)) from error
    if rows and not {"id", "label"} <= rows[0].keys():
        raise UserError(f"{path} needs the columns 'id' and 'label'; it has {list_names([*filter(None, rows[0])])}.")
    return rows


def check_labels_file(path: Path, cells: CellReader, ids: Collection[str]) -> None:
    """Check a labels file before a run begins; it need not exist yet.

    Raises:
        UserError: The file cannot be read, lacks a column, has labels of which none fits the task, or there is not even
            its folder: a run would wait for a file that the user writes elsewhere.
    """
    if path.is_dir():
        raise UserError(
            f"`labels` {path} is a folder; name a CSV file in it, which need not exist yet.", field="labels"
        )
    if not path.parent.is_dir():
        raise UserError(
            f"`labels` {path}: there is no folder {path.parent}; create it, or name a CSV file in another.",
            field="labels",
        )
    try:
        rows = rows_of(path)
    except (OSError, UnreadableError, csv.Error) as error:
        raise UserError(
            f"`labels` {path} cannot be read ({reason(error)}); name a CSV file.", field="labels"
        ) from error
    given = {row["id"]: label for row in rows or () if (label := (row["label"] or "").strip())}
    if given and not any(id in ids and _fits(cells, label) for id, label in given.items()):
        id, label = next(iter(given.items()))
        raise UserError(
            f"`labels` {path}: no row fits the task, such as id '{id:.40}' with label '{label:.40}'; give ids of its "
            f"texts and one of the classes {', '.join(cells.classes)}.",
            field="labels",
        )


def _fits(cells: CellReader, label: str) -> bool:
    try:
        return not cells.unknown(cells.read(label))
    except UserError:
        return False


class LabelsFile:
    """Reads labels from a CSV file with the columns `id` and `label`, and waits until all requested ones are there.

    The file may have any form in which spreadsheets save it: commas, semicolons or tabs; UTF-8, UTF-16 or Windows-1252.

    The requested texts are written to `to_label` (id, text, label), to be filled in there or copied from there. Labels
    from earlier rounds stay below them, so that a resumed run does not request them again. Both files are polled; a
    half-saved file or a misspelt class is reported once, and the wait continues.

    If a text may have several classes, a cell holds a JSON list (`["food", "sport"]`, or `[]` for none of them), one
    class, or several with the separator of the task between them.
    """

    def __init__(
        self,
        path: Path,
        to_label: Path,
        cells: CellReader,
        observer: Observer | None = None,
        pause: Callable[[], None] = lambda: time.sleep(1.0),
    ) -> None:
        self._path, self._to_label, self._cells = path, to_label, cells
        self._observer, self._pause = observer or Observer(), pause
        self._reported: set[str] = set()
        self._given: dict[str, Answer] = {}

    def label(self, texts: Mapping[str, str]) -> Mapping[str, Answer]:
        labels, asked, before = self._labels(texts), False, list[str]()
        while len(labels) < len(texts):
            lost = self._unlisted(texts) if asked else []
            if lost and lost == before:  # twice in a row, or the file may be half saved
                self._report_once(
                    f"{self._to_label} was saved without {len(lost)} of the texts that wait for a label, such as id "
                    f"'{lost[0]}'; they are listed again: open it again, with the ids as text."
                )
                asked, lost = False, []
            asked, before = asked or self._ask(texts), lost
            self._observer.waiting(len(labels), len(texts), self._to_label)
            self._pause()
            labels = self._labels(texts)
        self._given |= labels
        return {id: labels[id] for id in texts}

    def _labels(self, texts: Mapping[str, str]) -> dict[str, Answer]:
        """The labels of these texts in both files; the user's own file takes precedence."""
        found: dict[str, Answer] = {}
        for path in (self._to_label, self._path):
            for id, label in self._read(path).items():
                if not label or (id not in texts and id not in self._given):
                    continue
                try:
                    answer = self._cells.read(label)
                except UserError as error:
                    self._report_once(f"{path}, id '{id}': {error}")
                    continue
                if id not in texts and answer != self._given[id]:
                    self._report_once(
                        f"{path}: id '{id}' is now '{label:.40}', but the run learns from its first label, "
                        f"'{write_cell(self._given[id])}'; correct labels with an ActiveLearner or in the app."
                    )
                if id in texts:
                    if unknown := self._cells.unknown(answer):
                        known = ", ".join(self._cells.classes)
                        self._report_once(
                            f"{path}: '{unknown[0]:.40}' of id '{id}' is not a class; use one of {known}."
                        )
                    else:
                        found[id] = answer
        return found

    def _unlisted(self, texts: Mapping[str, str]) -> list[str]:
        """Texts that are in neither file; a spreadsheet that was open overwrites the file with its old rows."""
        rows = self._rows(self._to_label)
        there = texts.keys() if rows is None else {row["id"] for row in rows} | self._elsewhere()
        return [id for id in texts if id not in there]

    def _elsewhere(self) -> set[str]:
        """Ids that have a label in the user's own file."""
        return {id for id, label in self._read(self._path).items() if label and _fits(self._cells, label)}

    def _read(self, path: Path) -> dict[str, str]:
        return {row["id"]: (row["label"] or "").strip() for row in self._rows(path) or ()}

    def _rows(self, path: Path) -> list[dict[str, str]] | None:
        """The rows of a file, None if it cannot be read at the moment."""
        try:
            return rows_of(path)
        except (OSError, UnreadableError, csv.Error) as error:
            self._report_once(
                f"{path} cannot be read at the moment ({reason(error)}); waiting for it to be saved again."
            )
            return None

    def _ask(self, texts: Mapping[str, str]) -> bool:
        """Write the requested texts to `to_label`; not over a file that cannot be read, since it may hold labels."""
        rows = self._rows(self._to_label)
        if rows is None:
            return False
        there = {row["id"]: row for row in rows}
        kept = {id: (row["label"] or "").strip() for id, row in there.items()}
        elsewhere = self._elsewhere()
        table = io.StringIO()
        writer = csv.writer(table)
        writer.writerow(["id", "text", "label"])
        writer.writerows([id, text, kept.get(id, "")] for id, text in texts.items() if id not in elsewhere)
        writer.writerows([id, there[id].get("text"), label] for id, label in kept.items() if label and id not in texts)
        write_whole(self._to_label, table.getvalue())
        return True

    def _report_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._observer.message(text)
