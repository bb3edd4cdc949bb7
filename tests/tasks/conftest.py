from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

Write = Callable[[str, str | bytes], Path]

_REAL = os.environ.get("HYBRIDAL_DATA") or str(Path(__file__).resolve().parents[3] / "shared" / "data")


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests see does not depend on what this machine mirrors."""
    monkeypatch.delenv("HYBRIDAL_DATA", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file, byte for byte, and gives its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror of two made-up tasks: one has its label names in the schema, the other in a separate file."""
    root = tmp_path / "mirror"
    for name, classes in (("ag_news", ["World", "Sports"]), ("my-mail", ["ham", "spam", "maybe"])):
        folder = root / name
        folder.mkdir(parents=True)
        for part, size in (("train", 30), ("validation", 6), ("test", 12)):
            labels = [row % len(classes) for row in range(size)]
            table = pyarrow.table(
                {"text": [f"{part} {row} {classes[i]}" for row, i in enumerate(labels)], "label": labels}
            )
            if name == "ag_news":
                table = table.replace_schema_metadata({"label_names": json.dumps(classes)})
            pyarrow.parquet.write_table(table, folder / f"{part}.parquet")
        if name == "my-mail":
            (folder / "labels.json").write_text(json.dumps({"label_names": classes}))
    (root / "not a task").mkdir()
    monkeypatch.setenv("HYBRIDAL_DATA", str(root))
    return root


@pytest.fixture
def real_mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real texts, where this machine has them."""
    if not Path(_REAL).is_dir():
        pytest.skip("no mirror of real texts on this machine")
    monkeypatch.setenv("HYBRIDAL_DATA", _REAL)
    return Path(_REAL)
