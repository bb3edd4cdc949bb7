from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from .served import served
from .window import Window

pytestmark = pytest.mark.browser

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><b>bold</b>"
CONTROLS = "bell\x07 tab\t escape\x1b[31m override\u202e left\u2066 line\u2028end {{ 7*7 }} '; DROP TABLE texts; --"
CLASS = "<i onmouseover=\"document.title='owned'\">&amp;"


def test_texts_and_classes_are_only_ever_shown(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", texts=[SCRIPT, CONTROLS], classes=[CLASS, "b"]) as app:
        page = window.open(app.link)
        seen = []
        for _ in range(2):
            expect(page.locator("#text")).not_to_be_empty()
            seen.append(page.locator("#text").text_content())
            page.get_by_role("button", name=CLASS).hover()
            page.keyboard.press("f")
            page.keyboard.press("c")
            page.keyboard.type(SCRIPT)
            page.keyboard.press("Enter")
            page.keyboard.press("1")
        assert SCRIPT in seen
        expect(page.get_by_role("heading", name="Nothing to label")).to_be_visible()
        for path in ("/texts", "/progress", "/review#flagged", "/settings"):
            page.goto(app.address + path)
            expect(page.locator("#project-name")).to_have_text("made up")
            if path in ("/texts", "/review#flagged"):
                expect(page.locator(".item")).to_have_count(2)
            assert "owned" not in page.title()
            assert page.locator("main b, main i, main img").count() == 0
