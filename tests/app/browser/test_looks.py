from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hybridal.app.labelling.annotations import annotate

from ..made_up import me
from .served import Served, served
from .window import Window, go_and_settle

pytestmark = pytest.mark.browser

PATHS = (
    "/",
    "/texts",
    "/progress",
    "/review",
    "/results",
    "/export",
    "/people",
    "/settings",
    "/comments",
    "/programs",
    "/programs/api",
    "/codebook",
    "/log",
)

HERE = Path(__file__).parent
CONTRASTS, NAMELESS = ((HERE / name).read_text(encoding="utf-8") for name in ("contrasts.js", "nameless.js"))


def test_every_page_fits_a_phone_has_contrast_and_names_its_controls(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link, viewport={"width": 320, "height": 640}, reduced_motion="reduce", has_touch=True)
    for path in PATHS:
        go_and_settle(page, app.address + path)
        expect(page.locator("#trainer p")).not_to_be_empty()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.evaluate(NAMELESS) == [], path
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            contrasts = page.evaluate(CONTRASTS)
            assert contrasts
            assert [words for words in contrasts if words[0] < 4.5] == [], (path, scheme)
            shot(page, f"phone-{scheme}-{path.strip('/').replace('/', '-') or 'label'}")


def test_colours_follow_the_button_and_are_remembered(window: Window, app: Served) -> None:
    page = window.open(app.link, color_scheme="light")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Colour theme: same as system").click()
    page.get_by_role("button", name="Colour theme: light").click()
    page.goto(f"{app.address}/texts")
    expect(page.get_by_role("button", name="Colour theme: dark")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_buttons_for_thumbs_are_large_enough(window: Window, app: Served) -> None:
    page = window.open(app.link, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    expect(page.locator("#text")).not_to_be_empty()
    boxes = [box for button in page.locator("main button:visible").all() if (box := button.bounding_box())]
    assert len(boxes) > 6
    assert min(min(box["width"], box["height"]) for box in boxes) >= 40
    assert all(box["y"] >= 0 and box["y"] + box["height"] <= 740 for box in boxes)


def test_on_a_phone_a_class_and_its_key_stand_in_the_middle_of_their_button(window: Window, app: Served) -> None:
    page = window.open(app.link, viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    expect(page.locator("#text")).not_to_be_empty()
    middle = "element => { const box = element.getBoundingClientRect(); return box.y + box.height / 2; }"
    button = page.locator("#classes button").first
    for part in ("kbd", "bdi"):
        assert button.locator(part).evaluate(middle) == pytest.approx(button.evaluate(middle), abs=1)


@pytest.mark.parametrize("width", [1280, 360])
def test_the_buttons_of_a_text_stand_together(window: Window, app: Served, width: int) -> None:
    page = window.open(app.link, at="/texts", viewport={"width": width, "height": 640})
    row = page.locator(".item").first
    edges = [box["x"] + box["width"] for part in (row.locator(".actions"), row) if (box := part.bounding_box())]
    assert edges[1] - edges[0] < 30
    row.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog")
    save, delete = (dialog.get_by_role("button", name=name).bounding_box() for name in ("Save", "Delete"))
    assert save
    assert delete
    assert delete["x"] - save["x"] - save["width"] < 30


def test_the_buttons_of_a_long_message_keep_their_words_whole(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/texts", viewport={"width": 320, "height": 640})
    for number in range(3):
        page.locator(".item input[type=checkbox]").nth(number).check()
    with app.project.sessions.begin() as session:
        owner = me(app.project)
        for number in range(2):
            annotate(session, owner, f"t{number}", "skip", key=f"t{number}")
    page.get_by_label("Label the selected texts as").select_option("a")
    page.get_by_role("button", name="Save").click()
    for name in ("Undo", "Close"):
        button = page.locator("#toasts").get_by_role("button", name=name)
        expect(button).to_be_in_viewport(ratio=1)
        lines = "button => { const all = new Range(); all.selectNode(button.firstChild); return all.getClientRects(); }"
        assert len(button.evaluate(lines)) == 1


def test_class_names_of_any_script_are_next_to_their_key(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", classes=["שגיאה", "b"]) as app:
        page = window.open(app.link)
        start = "name => { const it = new Range(); it.selectNode(name.firstChild); return it.getClientRects()[0].x; }"
        name, key = page.locator("#classes bdi").first, page.locator("#classes kbd").first.bounding_box()
        expect(name).to_be_visible()
        assert key
        assert name.evaluate(start) - key["x"] - key["width"] < 20


def test_text_fields_follow_the_direction_of_their_text(window: Window, app: Served) -> None:
    page = window.open(app.link)
    expect(page.locator("#text")).not_to_be_empty()
    page.keyboard.press("c")
    page.get_by_label("Comment, saved with your label").fill("שלום")
    expect(page.get_by_label("Comment, saved with your label")).to_have_css("direction", "rtl")
    page.goto(f"{app.address}/texts")
    page.get_by_label("Search").fill("مرحبا")
    expect(page.get_by_label("Search")).to_have_css("direction", "rtl")
