"""Every code block of the README and the documentation runs, or says above it why it cannot.

A block that cannot run here has a comment on the line above its fence, which readers do not see:
`<!-- not run: REASON -->`. Its `hybridal` commands are still parsed, so that no page shows an option that is not there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hybridal.app.api_tokens import make_token
from hybridal.app.people import User
from hybridal.cli.main_app import app as command_line
from tests.app.browser.served import served
from tests.app.made_up import me

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}
FENCE = re.compile(r"(?:^<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
SITE = "https://label.example.org"
TICKETS = {"It crashes when I click save": "bug", "Please add a dark colour": "feature", "How do I pay?": "question"}
SMALL = 'backbone="tiny", device="cpu", min_steps=0, min_finetune_steps=0, max_epochs=1'
SMALL_RUN = shlex.split(
    "--backbone tiny --device cpu --rounds 2 --initial 12 --batch 6 --set max_epochs=1 --set min_steps=0"
    " --set min_finetune_steps=0"
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    reason: str | None  # why it is not run

    @property
    def commands(self) -> list[list[str]]:
        """The arguments of each `hybridal` command of a shell block."""
        if self.language not in ("sh", "console"):
            return []
        prompt = "$ " if self.language == "console" else ""
        lines = self.code.replace("\\\n", " ").splitlines()
        shown = [line.removeprefix(prompt) for line in lines if line.startswith(prompt)]
        words = [shlex.split(line, comments=True) for line in shown]
        return [line[1:] for line in words if line[:1] == ["hybridal"]]


def blocks_of(page: str) -> list[Block]:
    return [Block(m["language"], m["code"], m["reason"]) for m in FENCE.finditer(PAGES[page])]


WITH_PYTHON = [page for page in PAGES if any(b.language == "python" and not b.reason for b in blocks_of(page))]
WITH_COMMANDS = [page for page in PAGES if any(b.commands for b in blocks_of(page))]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_of_a_language_that_is_tested_or_plain_text(page: str) -> None:
    assert {block.language for block in blocks_of(page)} <= {"python", "sh", "console", "yaml", "toml", "text"}
    assert PAGES[page].count("\n```") == 2 * len(blocks_of(page))


@pytest.mark.parametrize("page", PAGES)
def test_other_programs_are_not_run(page: str) -> None:
    """Shell blocks that run hold `hybridal` commands and comments, except for the Makefile's two."""
    for block in blocks_of(page):
        if block.language in ("sh", "console") and not block.reason:
            lines = [shlex.split(line, comments=True) for line in block.code.replace("\\\n", " ").splitlines()]
            first = {line[1 if line[0] == "$" else 0] for line in lines if line}
            assert first <= {"hybridal"} or first == {"make"}, f"{page}: mark the block as not run"


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_have_these_options(page: str) -> None:
    for arguments in (command for block in blocks_of(page) for command in block.commands):
        parse(arguments)


def parse(arguments: list[str]) -> None:
    """Parse a command down to its last subcommand without running it; a wrong option is an error."""
    command: Any = get_command(command_line)
    rest, name, parent = arguments, "hybridal", None
    while hasattr(command, "resolve_command"):
        context = command.make_context(
            name, rest[:], parent=parent, allow_extra_args=True, allow_interspersed_args=False
        )
        name, command, rest = command.resolve_command(context, rest)
        parent = context
    command.make_context(name, rest, parent=parent)


@pytest.mark.parametrize(
    "page", [page for page in WITH_COMMANDS if any(b.commands and not b.reason for b in blocks_of(page))]
)
def test_commands_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hybridal.reports.run_report.panels", lambda *_: [])  # drawing has tests of its own
    write_tickets(tmp_path)
    for block in blocks_of(page):
        for command in block.commands if not block.reason else []:
            small = [*command, *SMALL_RUN] if command[0] in ("run", "compare") else command
            result = CliRunner().invoke(command_line, small)
            assert result.exit_code == 0, f"hybridal {shlex.join(command)}\n{result.output}\n{result.exception!r}"


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [block.code for block in blocks_of(page) if block.language == "python" and not block.reason]
    code = "".join(blocks)
    for tracker in re.findall(r'tracker="(\w+)', code):
        pytest.importorskip(tracker)
    monkeypatch.chdir(tmp_path)
    write_tickets(tmp_path)
    with label_app(tmp_path / "p", monkeypatch) if SITE in code else nullcontext(SITE) as address:
        names: dict[str, Any] = {"__name__": "page"}
        for block in blocks:
            quick = block.replace('backbone="minilm"', SMALL).replace("max_length=64", "max_length=16")
            quick = quick.replace('backbone="auto"', SMALL.replace('"tiny"', '"auto:tiny"'))
            exec(compile(quick.replace(SITE, address), page, "exec", dont_inherit=True), names)


def write_tickets(folder: Path) -> None:
    """The files that pages call `tickets.csv` and `new.csv`."""
    rows = [(f"{body} ({number})", label) for number, (body, label) in enumerate(islice(cycle(TICKETS.items()), 150))]
    frame = pd.DataFrame(rows, columns=["body", "category"])
    frame.to_csv(folder / "tickets.csv", index=False)
    frame[["body"]].head(9).to_csv(folder / "new.csv", index=False)


@contextmanager
def label_app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an app that accepts the token in the environment."""
    with served(folder, TICKETS, set(TICKETS.values())) as app:
        with app.project.sessions.begin() as session:
            _, token = make_token(session, User(me(app.project), "", ""), "docs", "owner")
        monkeypatch.setenv("HYBRIDAL_TOKEN", token)
        yield app.address
