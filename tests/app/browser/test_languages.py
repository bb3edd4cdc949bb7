"""Pages in every language: nothing is cut off, overlaps or leaves the screen, and axe-core finds all names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.web.translations import COOKIE, LANGUAGES, SOURCE, translation

from .axe import Axe
from .served import Served
from .test_axe import furnish
from .test_looks import PATHS
from .window import Window, go_and_settle

pytestmark = pytest.mark.browser

# Texts of controls that are wider than their place, or that cover each other.
CUT_OFF = """() => [...document.querySelectorAll("button, a.button, label, th, legend, summary, .badge, nav a")]
  .filter((one) => !one.closest(".unseen, .skip-link") && one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => getComputedStyle(one).overflow !== "visible" && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent.trim())"""


NAME_IS_WHOLE = """() => {
  const name = document.getElementById("project-name");
  return name.scrollWidth <= name.clientWidth;
}"""


# Opening a page takes 0.3 s of CPU time. These have the most of what can be too wide or nameless: buttons and fields.
MOST_CONTROLS = ("/", "/texts", "/review", "/people", "/settings")
# German has the longest words, Arabic is written from right to left, and Japanese has lines without spaces.
EXTREMES = ("de", "ar", "ja")
# The rules of axe-core that depend on words; `test_axe` has the others.
WORDED = ("button-name", "link-name", "label", "label-content-name-mismatch", "html-has-lang", "html-lang-valid")


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != SOURCE])
def test_pages_fit_in_every_language(
    language: str, window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    furnish(app)
    page = window.open(app.link, viewport={"width": 320, "height": 640}, reduced_motion="reduce")
    page.context.add_cookies([{"name": COOKIE, "value": language, "url": app.address}])
    for path in PATHS if language in EXTREMES else MOST_CONTROLS:
        go_and_settle(page, app.address + path)
        expect(page.locator("#trainer p")).not_to_be_empty()
        assert page.locator("html").get_attribute("dir") == translation(language).direction
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 640})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
            assert page.evaluate(CUT_OFF) == [], (path, width)
            assert page.evaluate(NAME_IS_WHOLE), (path, width)
            shot(page, f"{language}-{width}-{path.strip('/').replace('/', '-') or 'label'}")
        if path in ("/", "/settings"):
            assert axe.faults(page, *WORDED) == []


def test_the_menu_at_the_foot_changes_the_language(window: Window, app: Served) -> None:
    page = window.open(app.link, locale="en")
    expect(page.get_by_role("button", name="Skip")).to_be_visible()
    page.get_by_role("combobox", name="Language").select_option("de")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_role("button", name="Überspringen")).to_be_visible()
    assert COOKIE in {cookie["name"] for cookie in page.context.cookies()}
    page.goto(f"{app.address}/progress")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fortschritt")


def test_placeholders_of_right_to_left_pages_start_at_the_right(window: Window, app: Served) -> None:
    page = window.open(app.link, locale="ar")
    go_and_settle(page, app.address + "/settings")
    field = page.get_by_role("textbox", name="ما ينتمي إلى b")
    expect(field).to_have_css("direction", "rtl")
    field.fill("delivery")
    expect(field).to_have_css("direction", "ltr")
