"""From an empty server to the first model and its files, with mouse and keyboard in the browser alone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hybridal.testing.small import toy_task

from .command import started
from .test_story import label
from .window import Window

pytestmark = pytest.mark.browser


def test_from_an_empty_server_to_the_first_model(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    texts = toy_task(train=60).train.texts
    content = "\n".join(["body", *texts]).encode()
    (tmp_path / "projects").mkdir()
    with started(tmp_path / "projects", "--backbone", "tiny", name="serve") as link:
        page = window.open(link)
        expect(page.get_by_text("No project yet.")).to_be_visible()
        shot(page, "path-1-empty")
        page.get_by_role("link", name="New project").click()
        file = {"name": "letters.csv", "mimeType": "text/csv", "buffer": content}
        page.get_by_label("File with your texts").set_input_files(file)  # type: ignore[arg-type]
        expect(page.locator("#file-facts")).to_have_text("60 rows, 60 different texts.")
        shot(page, "path-2-file")
        page.get_by_label("One class per line").fill("sport: games, teams and races\nfood: cooking and eating")
        page.get_by_role("button", name="Create and start labelling").scroll_into_view_if_needed()
        shot(page, "path-3-classes")
        page.get_by_role("button", name="Create and start labelling").click()
        page.wait_for_url("**/p/letters/")
        expect(page.get_by_role("button", name="sport")).to_be_visible()
        expect(page.locator("#text")).not_to_be_empty()
        shot(page, "path-4-first-text")
        label(page, 22)
        # The trainer works in its own time; its bar and the page Progress say when the first model is there.
        page.get_by_role("link", name="Progress").click()
        learning_curve = page.get_by_role("figure").filter(has_text="Learning curve").locator("svg[role=img] .mark")
        expect(learning_curve.first).to_be_visible()
        shot(page, "path-5-model")
        page.get_by_role("link", name="Export").first.click()
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV", exact=True).first.click()
        with download.value.path().open(newline="", encoding="utf-8") as exported:
            assert sum(bool(row["label"]) for row in csv.DictReader(exported)) == 22
        expect(page.get_by_role("link", name="Model folder")).to_be_visible()
        shot(page, "path-6-export")
        page.goto(link.split("?")[0])
        expect(page.locator("#projects > li")).to_contain_text("22 of 60 labels, 60 texts, round 1")
        shot(page, "path-7-projects")
