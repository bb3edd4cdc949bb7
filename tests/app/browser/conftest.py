from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .. import on_postgres
from .axe import Axe, axe_script
from .served import Served, served
from .window import FLAGS, Warm, Window, installed_chromium


# Not for the whole session: while Playwright is open, no other test of this process could run an event loop.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """A real browser."""
    program = installed_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session", autouse=True)
def database(request: pytest.FixtureRequest) -> Iterator[None]:
    """With the option, all projects are in a PostgreSQL database."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption(on_postgres.OPTION):
            patch.setattr(on_postgres, "database", f"{request.getfixturevalue('server')}postgres")
        yield


@pytest.fixture(scope="package")
def warm(chromium: Browser) -> Warm:
    return Warm.of(chromium)


@pytest.fixture
def window(chromium: Browser, warm: Warm) -> Iterator[Window]:
    """Opens pages, and fails if a script on them fails."""
    opened = Window(chromium, warm)
    yield opened
    opened.close()
    assert opened.problems == []


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    """The app of a small project, without a trainer."""
    with served(tmp_path / "p") as opened:
        yield opened


@pytest.fixture
def shot() -> Callable[[Page, str], None]:
    """Save screenshots in the folder HYBRIDAL_SCREENSHOTS, if it is set."""
    folder = os.environ.get("HYBRIDAL_SCREENSHOTS")

    def take(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png")

    return take


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> Axe:
    """The accessibility checker."""
    return Axe(axe_script(request.config.cache.mkdir("axe-core")))


@pytest.fixture(autouse=True)
def _hashes_quickly(quick_hashes: None) -> None: ...
