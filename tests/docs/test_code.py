"""The code that how-tos and explanations show runs from its first line to its last, on an encoder that is quick."""

from __future__ import annotations

import re
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CODE = {
    path.relative_to(DOCS).as_posix(): blocks
    for folder in ("howto", "explanation")
    for path in sorted((DOCS / folder).glob("*.md"))
    if (blocks := BLOCK.findall(path.read_text(encoding="utf-8")))
}
TICKETS = {"It crashes when I click save": "bug", "Please add a dark colour": "feature", "How do I pay?": "question"}


@pytest.mark.parametrize("page", CODE)
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"{body} ({number})", label) for number, (body, label) in enumerate(islice(cycle(TICKETS.items()), 150))]
    pd.DataFrame(rows, columns=["body", "category"]).to_csv("tickets.csv", index=False)
    names: dict[str, Any] = {"__name__": "page"}
    for block in CODE[page]:
        quick = block.replace('backbone="minilm"', 'backbone="tiny", device="cpu", min_steps=0, max_epochs=1')
        exec(compile(quick, page, "exec", dont_inherit=True), names)
