"""The documentation site builds without warnings, loads nothing from the web, and covers all public names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import Browser, sync_playwright

import hybridal
from tests.app.browser.window import FLAGS, installed_chromium

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^"'>\s]+""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broken link or a name that is not there is an error."""
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_pages_fetch_nothing_from_the_web(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    assert {page.name: found for page in pages if (found := FETCHED.findall(page.read_text(encoding="utf-8")))} == {}


def test_every_public_name_and_command_is_there(site: Path) -> None:
    library = (site / "reference" / "api.html").read_text(encoding="utf-8")
    assert [name for name in hybridal.__all__ if f'id="hybridal.{name}"' not in library] == []
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for name in ("hybridal-run", "hybridal-label", "hybridal-study-plan", "exit-codes"):
        assert f'id="{name}"' in commands


def test_every_environment_variable_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(HYBRIDAL_\w+)`", page, re.MULTILINE))
    sources = (path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".html", ".js"))
    read = {name for path in sources for name in re.findall(r"HYBRIDAL_[A-Z_]+", path.read_text(encoding="utf-8"))}
    assert explained == read


# Not called `chromium`: the order of tests moves that name to the front, away from the others that use the site.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = installed_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@pytest.mark.browser
def test_a_page_opened_as_a_file_can_be_searched_and_fits_a_phone(site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.goto((site / "reference" / "protocol.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("label[for=__search]").first.click()
    page.get_by_role("textbox", name="Search").press_sequentially("temperature")
    page.get_by_text("matching documents").wait_for()
    assert problems == []


@pytest.mark.browser
def test_the_tables_of_the_findings_are_seen_whole_on_a_desk(site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((site / "findings.html").as_uri())
    page.locator(".md-typeset__scrollwrap").first.wait_for()  # a script makes them
    wide = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.innerText.slice(0, 80))"
    assert page.locator(".md-typeset__scrollwrap").evaluate_all(wide) == []
