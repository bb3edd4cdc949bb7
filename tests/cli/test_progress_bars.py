from __future__ import annotations

import io

import pytest
from rich.console import Console

from hybridal.cli import progress_bars as module
from hybridal.cli.progress_bars import text_progress


def shown(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> str:
    """What a bar over ten texts writes while seven of them get done."""
    screen = io.StringIO()
    monkeypatch.setattr(
        module, "Console", lambda: Console(file=screen, force_terminal=terminal, width=100, legacy_windows=False)
    )
    with text_progress("predicting", 10) as progress:
        progress(3)
        progress(4)
    return screen.getvalue()


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    written = shown(monkeypatch, terminal=True)
    assert "predicting" in written
    assert " 7/10" in written
    assert "texts/s" in written


def test_progress_bar_writes_nothing_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, terminal=False) == ""
