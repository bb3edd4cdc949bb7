from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.texts import Row, add

from ..made_up import leave_reader, me
from .served import Served, served
from .window import Window

pytestmark = pytest.mark.browser

WORDS = """Label what the writer *wants*, not how they feel.

- **a** is for apples
- **b** is for everything that rolls

> When in doubt, skip.

| class | means |
|---|---|
| feature | something that a customer would like to have one day, and asks for |

<img src=x onerror="document.title = 'hacked'">
"""


def test_guidelines_are_written_and_read(window: Window, app: Served, shot: Callable[[Page, str], None]) -> None:
    page = window.open(app.link)
    expect(page.locator("#text")).not_to_be_empty()
    expect(page.locator("#side-panel-toggle")).to_be_hidden()
    page.goto(f"{app.address}/settings")
    page.get_by_role("textbox", name="Guidelines").fill(WORDS)
    page.locator("#guidelines-form").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    page.goto(app.address)
    panel = page.get_by_role("complementary", name="About this text")
    expect(panel.locator("strong").first).to_have_text("a")
    expect(panel).to_contain_text("<img src=x")
    assert page.title() != "hacked"
    lines = "cell => { const all = new Range(); all.selectNodeContents(cell); return all.getClientRects().length; }"
    assert panel.get_by_role("cell", name="feature").evaluate(lines) == 1
    shot(page, "guidelines")
    text = page.locator("#text").inner_text()
    page.keyboard.press("0")
    expect(panel).to_be_hidden()
    page.keyboard.press("2")
    expect(page.locator("#text")).not_to_have_text(text)
    page.reload()
    expect(page.locator("#text")).not_to_be_empty()
    expect(panel).to_be_hidden()  # as it was left
    page.get_by_role("button", name="About this text", exact=True).click()
    expect(panel).to_be_visible()
    page.keyboard.press("1")  # keys go on while it is open
    expect(page.locator("#last")).to_contain_text("Labelled “a”")


def test_on_a_phone_they_are_a_sheet_that_opens_and_closes(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    with served(tmp_path / "p", guidelines=WORDS * 5) as app:
        page = window.open(app.link, viewport={"width": 390, "height": 844}, has_touch=True)
        expect(page.locator("#text")).not_to_be_empty()
        panel = page.get_by_role("complementary", name="About this text")
        expect(panel).to_be_hidden()
        page.get_by_role("button", name="About this text", exact=True).tap()
        expect(panel).to_be_visible()
        expect(panel).to_be_focused()
        shot(page, "guidelines-phone")
        page.get_by_role("button", name="Close this panel").tap()
        expect(panel).to_be_hidden()


def test_text_comes_first_when_zoomed_in(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", guidelines=WORDS) as app:
        page = window.open(app.link)
        panel = page.get_by_role("complementary", name="About this text")
        expect(panel).to_be_visible()
        page.set_viewport_size({"width": 640, "height": 400})  # what 200% makes of it
        expect(panel).to_be_hidden()
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(panel).to_be_visible()


def test_help_says_what_the_classes_mean(window: Window, app: Served, shot: Callable[[Page, str], None]) -> None:
    page = window.open(app.link, at="/settings")
    page.get_by_label("What belongs in b").fill("All that rolls: <b>balls</b>, wheels")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Examples of b")).to_be_focused()
    page.keyboard.type("A red ball")
    page.keyboard.press("Enter")
    page.keyboard.type("My wheel <i>squeaks</i>")
    with page.expect_response("**/api/classes?*"):
        page.keyboard.press("Tab")
    shot(page, "class-examples")
    page.goto(app.address)
    expect(page.locator("#text")).not_to_be_empty()
    page.keyboard.press("?")
    expect(page.locator("#key-list")).to_contain_text("All that rolls: <b>balls</b>, wheels")
    expect(page.locator("#key-list li")).to_have_text(["A red ball", "My wheel <i>squeaks</i>"])
    shot(page, "help-classes")


def test_columns_and_suggestions_are_next_to_the_text(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    with app.project.sessions.begin() as session:
        for number in range(2, 20):  # few remain before the one that is asked for
            annotate(session, me(app.project), f"t{number}", "skip", key=f"t{number}")
    page = window.open(app.link, at="/settings")
    content = b"text,label,author,note\nA new text,b,Ada <b>L</b>,first\n"
    file = {"name": "more.csv", "mimeType": "text/csv", "buffer": content}
    page.locator("#upload [name=file]").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_label("Treat the labels in the file as").select_option("true")
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_have_text("1 text added. 0 already in the project.")
    page.goto(f"{app.address}/texts?search=ADA")
    page.get_by_role("button", name="Open").click()
    page.get_by_text("Other columns of the file").click()
    expect(page.locator("dialog .context")).to_contain_text("Ada <b>L</b>")
    page.get_by_role("button", name="Close").click()
    page.goto(app.address)
    for _ in range(3):
        expect(page.locator("#text")).not_to_be_empty()
        if page.locator("#text").inner_text() == "A new text":
            break
        page.wait_for_timeout(260)
        page.keyboard.press("s")
    panel = page.get_by_role("complementary", name="About this text")
    expect(panel.locator("dl")).to_have_text("authorAda <b>L</b>notefirst")
    expect(page.get_by_role("button", name="b", exact=False).filter(has_text="suggested")).to_be_visible()
    shot(page, "context")
    page.keyboard.press("2")
    expect(page.locator("#last")).to_contain_text("Labelled")


@pytest.mark.parametrize("width", [1280, 360])
def test_column_values_have_room_next_to_a_long_name(window: Window, tmp_path: Path, width: int) -> None:
    name = "a column whose name was once written as a whole sentence_with_one_word_that_cannot_be_broken"
    with served(tmp_path / "p") as app:
        with app.project.sessions.begin() as session:
            add(session, [Row("new", "A new text", None, {"who": "Ada Lovelace", name: "here"})])
            owner = me(app.project)
            for number in range(20):
                annotate(session, owner, f"t{number}", "skip", key=f"t{number}")
        page = window.open(app.link, viewport={"width": width, "height": 640})
        expect(page.locator("#text")).to_have_text("A new text")
        if width < 1000:
            page.keyboard.press("0")
        panel, shares = page.locator("#side-panel"), "dl => dl.querySelector('dd').offsetWidth / dl.offsetWidth"
        assert panel.locator("dl").evaluate(shares) > 0.5
        assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
        page.goto(f"{app.address}/texts?search=new")
        page.get_by_role("button", name="Open").click()
        page.get_by_text("Other columns of the file").click()
        assert page.locator("dialog .context").evaluate(shares) > 0.5


def test_the_text_shows_where_the_model_stops_reading(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    words = "a b c d e f g h"
    with served(tmp_path / "p", [words]) as app:
        leave_reader(app.project, 6)
        page = window.open(app.link)
        expect(page.locator("#text")).to_have_text(words)  # all of it, as it was
        expect(page.locator("#text .unread")).to_have_text(" g h")
        page.wait_for_timeout(300)
        shot(page, "reading")
        page.goto(f"{app.address}/settings")
        page.get_by_label("Tokens that the model reads per text").fill("256")
        page.locator("#model").get_by_role("button", name="Save").click()
        expect(page.locator("#toasts")).to_contain_text("Saved.")
        assert app.project.setting("overrides")["max_length"] == 256
