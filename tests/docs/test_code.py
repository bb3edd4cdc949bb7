"""The code that how-tos and explanations show runs from its first line to its last, on an encoder that is quick."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hybridal.app.people import User
from hybridal.app.tokens import make_token
from tests.app.browser.served import served
from tests.app.made_up import me

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CODE = {
    path.relative_to(DOCS).as_posix(): blocks
    for folder in ("howto", "explanation")
    for path in sorted((DOCS / folder).glob("*.md"))
    if (blocks := BLOCK.findall(path.read_text(encoding="utf-8")))
}
SITE = "https://label.example.org"
TICKETS = {"It crashes when I click save": "bug", "Please add a dark colour": "feature", "How do I pay?": "question"}


@pytest.mark.parametrize("page", CODE)
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for tracker in re.findall(r'tracker="(\w+)', "".join(CODE[page])):
        pytest.importorskip(tracker)
    with label_app(tmp_path / "p", monkeypatch) if SITE in "".join(CODE[page]) else nullcontext(SITE) as address:
        run(page, address, tmp_path, monkeypatch)


@contextmanager
def label_app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an app that lets in whoever has the token in the environment."""
    with served(folder, TICKETS, set(TICKETS.values())) as app:
        with app.project.sessions.begin() as session:
            _, token = make_token(session, User(me(app.project), "", ""), "docs", "owner")
        monkeypatch.setenv("HYBRIDAL_TOKEN", token)
        yield app.address


def run(page: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"{body} ({number})", label) for number, (body, label) in enumerate(islice(cycle(TICKETS.items()), 150))]
    pd.DataFrame(rows, columns=["body", "category"]).to_csv("tickets.csv", index=False)
    names: dict[str, Any] = {"__name__": "page"}
    for block in CODE[page]:
        small = 'backbone="tiny", device="cpu", min_steps=0, brief_steps=0, max_epochs=1'
        quick = block.replace('backbone="minilm"', small)
        quick = quick.replace(SITE, address)
        exec(compile(quick, page, "exec", dont_inherit=True), names)
