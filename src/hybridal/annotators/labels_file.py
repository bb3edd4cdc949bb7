"""An annotator made of a file: a person labels in it, and it is watched."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hybridal.errors import UserError
from hybridal.files import write_whole
from hybridal.observer import Observer


class LabelsFile:
    """Reads labels from a CSV file with the columns `id` and `label`, and waits for those that it still lacks.

    What waits for a label is written to `to_label` (id, text, label), to be filled in there or copied from there. Both
    files are read again whenever they change; a half-saved file or a misspelt class is mentioned and waited out.
    """

    def __init__(
        self,
        path: Path,
        to_label: Path,
        classes: Sequence[str],
        observer: Observer | None = None,
        pause: Callable[[], None] = lambda: time.sleep(1.0),
    ) -> None:
        self._path, self._to_label, self._classes = path, to_label, classes
        self._observer, self._pause = observer or Observer(), pause
        self._mentioned: set[str] = set()

    def label(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        labels = self._labels(texts)
        if len(labels) < len(texts):
            self._ask({id: text for id, text in texts.items() if id not in labels})
        while len(labels) < len(texts):
            self._observer.waiting(len(labels), len(texts), self._to_label)
            self._pause()
            labels = self._labels(texts)
        return {id: labels[id] for id in texts}

    def _labels(self, texts: Mapping[str, str]) -> dict[str, str]:
        """What both files know of these texts; the user's own file has the last word."""
        found: dict[str, str] = {}
        for path in (self._to_label, self._path):
            for id, label in self._read(path).items():
                if id in texts and label:
                    if label in self._classes:
                        found[id] = label
                    else:
                        known = ", ".join(self._classes)
                        self._mention(f"{path}: '{label}' of id '{id}' is not a class; use one of {known}.")
        return found

    def _read(self, path: Path) -> dict[str, str]:
        try:
            rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            self._mention(f"{path} cannot be read at the moment ({error}); waiting for it to be saved again.")
            return {}
        if rows and not {"id", "label"} <= rows[0].keys():
            raise UserError(f"{path} needs the columns 'id' and 'label'; it has {', '.join(filter(None, rows[0]))}.")
        return {row["id"]: (row["label"] or "").strip() for row in rows}

    def _ask(self, texts: Mapping[str, str]) -> None:
        kept = self._read(self._to_label)
        table = io.StringIO()
        writer = csv.writer(table)
        writer.writerow(["id", "text", "label"])
        writer.writerows([id, text, kept.get(id, "")] for id, text in texts.items())
        write_whole(self._to_label, table.getvalue())

    def _mention(self, text: str) -> None:
        if text not in self._mentioned:
            self._mentioned.add(text)
            self._observer.message(text)
