from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hybridal.testing.small import toy_file

from .command import started
from .window import Window

pytestmark = pytest.mark.browser

SPORT = {"ball", "goal", "team", "match", "score", "player", "league", "coach", "race", "win"}


def label(page: Page, texts: int) -> None:
    """Read each text and press the key of its class."""
    last = ""
    for _ in range(texts):
        expect(page.locator("#text")).not_to_be_empty()
        words = set(page.locator("#text").inner_text().split())
        key = "1" if words & SPORT else "2"
        if key == last:
            page.wait_for_timeout(260)  # no person is faster; the same key again at once counts as one press
        page.keyboard.press(key)
        last = key
    expect(page.locator("#saved")).to_have_text("Saved")


def test_person_labels_while_the_model_trains(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    options = ["--text", "body", "--classes", "sport,food", "--backbone", "tiny"]
    with started(toy_file(tmp_path), *options, "--validation-first", "6", "--batch", "4", "--budget", "60") as link:
        address = link.split("?")[0]
        page = window.open(link)
        progress = page.context.new_page()
        progress.goto(f"{address}progress")
        expect(progress.locator("#story")).to_contain_text("There is no model yet")
        marks = progress.get_by_role("figure").filter(has_text="Learning curve").locator("svg[role=img] .mark")

        page.bring_to_front()
        label(page, 17)
        shot(page, "label")
        # The trainer works in its own time; meanwhile, nothing stops who labels.
        progress.bring_to_front()
        expect(marks.first).to_be_visible()
        seen = marks.count()
        page.bring_to_front()
        label(page, 5)
        expect(page.locator("#goal")).to_contain_text("22 of 60 labels")
        progress.bring_to_front()
        expect(marks.nth(seen)).to_be_visible()
        shot(progress, "progress")

        page.bring_to_front()
        expect(page.locator("#text")).not_to_be_empty()
        page.keyboard.press("u")
        expect(page.locator("#goal")).to_contain_text("21 of 60 labels")
        label(page, 1)

        page.goto(f"{address}texts?state=labelled")
        item = page.locator(".item").first
        body = item.locator(".written").inner_text()
        was = item.locator(".badge bdi").first.inner_text()
        other = {"sport": "food", "food": "sport"}[was]
        item.get_by_role("button", name="Open").click()
        page.get_by_role("dialog").get_by_role("combobox", name="Your label").select_option(other)
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".item").first.locator(".badge bdi").first).to_have_text(other)
        shot(page, "texts")

        page.goto(f"{address}export")
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").first.click()
        with download.value.path().open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        labelled = {row["text"]: row["label"] for row in rows if row["label"]}
        assert len(labelled) == 22
        assert labelled[body] == other

        # Meanwhile the newest model has scored and read all texts.
        expect(page.locator("#scoring-state")).to_contain_text("has scored all")
        expect(page.locator("#scoring-bar")).to_be_hidden()
        page.goto(f"{address}texts?order=sure&state=unlabelled")
        first = page.locator(".item").first
        expect(first).to_contain_text("model:")
        shown = first.get_attribute("data-id")
        while page.request.get(f"{address}api/texts?like={shown}").status == 404:
            page.wait_for_timeout(100)
        first.get_by_role("button", name="More like this").click()
        expect(first).to_contain_text("similar")
        shot(page, "texts-alike")
