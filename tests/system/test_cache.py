from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.system.cache import cache_dir


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        ("/own", "/shared", "/own"),
        ("~/own", "/shared", "/home/someone/own"),
        ("", "/shared", "/shared/hybridal"),
        ("", "", "/home/someone/.cache/hybridal"),
    ],
)
def test_the_nearest_setting_wins(monkeypatch: pytest.MonkeyPatch, own: str, shared: str, expected: str) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("HYBRIDAL_CACHE", own)
    monkeypatch.setenv("XDG_CACHE_HOME", shared)
    assert cache_dir() == Path(expected)
