"""Fuzzes the importers: `python -m bench.fuzz --minutes 10 csv`; anything but a `UserError` of one sentence is a find.

Each find is shrunk and written to `--finds`. What was mended is kept in `tests/security/corpus`, where a test reads it
again. Not a part of the suite: it looks for new inputs for as long as it is told; --seed continues where another run
ended.
"""

from __future__ import annotations

import argparse
import io
import logging
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, NoReturn

from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import hybridal
from bench.fuzz_files import FILES, TASKS, damaged, delimited
from hybridal.annotators.labels_file import LabelsFile
from hybridal.app.labelling.text_source import Source, preview_file, read_source
from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.web_app import create_app
from hybridal.errors import UserError
from hybridal.tasks import load_task, parquet_files, parquet_reader, sheet_reader, spreadsheet
from hybridal.tasks.label_cells import CellReader
from hybridal.tasks.read import READERS, count_rows

_PACKAGE = Path(hybridal.__file__).parent
_SCRATCH = tempfile.TemporaryDirectory(prefix="hybridal-fuzz-")
_LONGEST_SENTENCE = 2000
_MOST_MEMORY = 6 << 30


class NotASentenceError(Exception):
    """A refusal that is not one line of text."""


def check_file(data: bytes, suffix: str) -> None:
    """A file of texts as the command line, the app and its preview read it, and as a browser sends it."""
    path = Path(_SCRATCH.name) / f"file{suffix}"
    path.write_bytes(data)
    for read in (
        lambda: preview_file(path, None, 1000),
        lambda: read_source(path, text="text", label="label", id="id", most=1000),
        lambda: read_source(path, text="text", label="note", most=1000, drop_empty=True, drop_duplicates=True),
        lambda: count_rows(path, "text", "label", "id"),
        lambda: load_task(path, label="label", drop_empty=True, drop_duplicates=True),
        lambda: load_task(path, label="label", label_separator=";", drop_empty=True, drop_duplicates=True),
        lambda: load_task(path, labels=["label", "note"], drop_empty=True),
    ):
        refused(read)
    _upload(data, suffix)


def _upload(data: bytes, suffix: str) -> None:
    """Send a file to the preview and then, by the columns that it guesses, to the project."""
    client = _client()
    files = {"file": (f"file{suffix}", data)}
    seen = _answered(client, "/api/texts/preview", files, {})
    if seen is not None and not seen["problem"]:
        columns = {name: seen[name] or "" for name in ("text", "label", "id")}
        _answered(client, "/api/texts", files, {**columns, "drop_empty": "true", "drop_duplicates": "true"})


def check_label_studio(data: bytes, _: str) -> None:
    """An export of Label Studio as a browser sends it."""
    _answered(_client(), "/api/import/label-studio", {"file": ("tasks.json", data)}, {})


def check_labels_csv(data: bytes, _: str) -> None:
    """A file of labels that a person edits while a run waits for it."""
    path = Path(_SCRATCH.name) / "labels.csv"
    path.write_bytes(data)
    (path.parent / "to_label.csv").unlink(missing_ok=True)

    def pause() -> NoReturn:
        raise _StopWaitingError

    def label(cells: CellReader) -> None:
        LabelsFile(path, path.parent / "to_label.csv", cells, pause=pause).label({"1": "one", "2": "two"})

    for cells in (CellReader(["a", "b"]), CellReader(["a", "b"], several=True, separator=";")):
        with suppress(_StopWaitingError):
            refused(partial(label, cells))


class _StopWaitingError(Exception):
    """The file was read, and more labels are waited for."""


def refused(read: Callable[[], object]) -> None:
    """Reads; a refusal must be one sentence."""
    try:
        read()
    except UserError as error:
        check_sentence(str(error))


def check_sentence(sentence: str) -> None:
    """One line, not too long for a person, that can be sent and stored."""
    sentence.encode()
    if not sentence.strip() or "\n" in sentence.strip() or "\0" in sentence or len(sentence) > _LONGEST_SENTENCE:
        raise NotASentenceError(repr(sentence[:300]))


def _answered(
    client: TestClient, path: str, files: Mapping[str, tuple[str, bytes]], form: Mapping[str, str]
) -> dict[str, str] | None:
    answer = client.post(path, files=dict(files), data=dict(form))
    if answer.status_code == 200:
        return dict(answer.json())
    check_sentence(answer.json()["error"])
    if answer.status_code >= 500:
        raise NotASentenceError(f"{path} answered {answer.status_code}")
    return None


@cache
def _client() -> TestClient:
    """The owner's browser."""
    folder = Path(_SCRATCH.name) / "project"
    link = LoginLink()
    app = create_app(Project.create(Source("fuzzed", []), folder), link, requests_a_minute=10**9)
    client = TestClient(app, base_url="http://localhost", follow_redirects=False)
    client.get("/", params={"token": link.token})
    client.headers["X-CSRF-Token"] = client.get("/api/project").json()["csrf_token"]
    return client


CHECKS: Mapping[str, tuple[Callable[[bytes, str], None], Callable[[], st.SearchStrategy[bytes]], str]] = {
    **{name: (check_file, files, f".{name}") for name, files in FILES.items()},
    "label-studio": (check_label_studio, lambda: TASKS | damaged(TASKS), ".json"),
    "labels-csv": (check_labels_csv, lambda: damaged(delimited()), ".csv"),
}


def check(name: str, data: bytes) -> None:
    """Raises where this input is a find."""
    run, _, suffix = CHECKS[name]
    run(data, suffix)


def read_in_this_process(patch: Callable[[object, str, object], None] = setattr) -> None:
    """Read spreadsheets and Parquet files without processes of their own, of which each takes a third of a second.

    Args:
        patch: Replaces an attribute of a module.
    """
    patch(spreadsheet, "printed_lines", _printed_lines)
    patch(parquet_files, "sent", _sent)


def _printed_lines(path: Path) -> Generator[str]:
    with redirect_stdout(io.StringIO()) as printed:
        sheet_reader.print_sheet(str(path))
    yield from printed.getvalue().splitlines()


@contextmanager
def _sent(path: Path, **request: Any) -> Generator[IO[bytes]]:
    with io.BytesIO() as out:
        parquet_reader.send(str(path), **request, out=out)
        out.seek(0)
        yield out


def fuzz(name: str, minutes: float, finds: Path, first_seed: int = 0) -> int:
    """Looks for finds for so long; their number, each kind counted once."""
    _, files, suffix = CHECKS[name]
    until, known, tried = time.monotonic() + 60 * minutes, set[str](), 0
    found: list[tuple[str, bytes]] = []
    last = finds / f"{name}-last{suffix}"  # still there if a library in C ended the process

    @settings(
        max_examples=200,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[*HealthCheck],
        report_multiple_bugs=False,
    )
    @given(files())
    def attempt(data: bytes) -> None:
        nonlocal tried
        tried += 1
        last.write_bytes(data)
        try:
            check(name, data)
        except Exception as error:
            if (kind := _kind(error)).partition(": ")[0] not in known:
                found[:] = [(kind, data)]
                raise

    for number in range(first_seed, sys.maxsize):
        found.clear()
        try:
            seed(number)(attempt)()
        except Exception:
            if not found:
                raise
            [(kind, data)] = found  # the smallest input that was tried
            known.add(kind.partition(": ")[0])
            path = finds / f"{name}-{len(known)}{suffix}"
            path.write_bytes(data)
            print(f"{path}: {kind}", flush=True)
        if time.monotonic() > until:
            break
    last.unlink()
    print(f"{name}: {tried} inputs, {len(known)} finds", flush=True)
    return len(known)


def _kind(error: BaseException) -> str:
    """The error that was raised first, with the innermost line of the package that it came through."""
    while error.__context__ is not None:
        error = error.__context__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in Path(frame.filename).parents]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an answer"
    return f"{type(error).__name__} in {where}: {str(error)[:200]!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("importer", nargs="*", choices=[[], *CHECKS], default=[*CHECKS])
    parser.add_argument("--minutes", type=float, default=10.0, help="for each importer")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; another one tries other inputs")
    parser.add_argument("--finds", type=Path, default=Path("finds"), help="folder for inputs that failed")
    given_ = parser.parse_args()
    given_.finds.mkdir(parents=True, exist_ok=True)
    read_in_this_process()
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    found = sum(fuzz(name, given_.minutes, given_.finds, given_.seed) for name in given_.importer)
    sys.exit(found > 0)


if __name__ == "__main__":
    assert set(READERS) >= {f".{name}" for name in FILES}
    main()
