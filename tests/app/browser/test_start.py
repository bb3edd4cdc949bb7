from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from hybridal.testing.small import toy_file

from ..made_up import make
from .command import started
from .test_looks import CONTRASTS, NAMELESS
from .window import Window

pytestmark = pytest.mark.browser


def wait(route: Route) -> None:
    """The same projects, of which one stands in line."""
    answer = route.fetch()
    found = answer.json()
    for one in found["items"]:
        if one["name"] == "old":
            one["waits_for"] = ["mails", "Sport-b-food"]
    route.fulfill(response=answer, json=found)


def test_projects_are_created_filled_trained_moved_and_closed(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    folder = tmp_path / "all"
    make(folder / "old", classes=()).close()  # nothing to learn: no trainer is started for it
    (folder / "torn").mkdir()
    (folder / "torn" / "project.json").write_text("<script>alert(1)</script>")
    with started(folder, "--backbone", "tiny", "--trainers", "1", verb="serve") as link:
        address = link.split("/?")[0]
        page = window.open(link)
        cards = page.locator("#projects > li")
        expect(cards).to_have_count(2)
        expect(page.get_by_label("torn", exact=True)).to_contain_text(
            "project.json is damaged; restore it from a backup."
        )

        # A name full of traps is shown as it is, and its address is harmless.
        page.get_by_label("Name").fill("Sport <b>& food</b>")
        page.get_by_role("button", name="Create and open").click()
        expect(page.get_by_role("heading", name="No texts yet")).to_be_visible()
        assert page.url == f"{address}/p/Sport-b-food-b/"
        page.get_by_role("link", name="Add texts").click()
        page.locator("#upload input[type=file]").set_input_files(toy_file(tmp_path, rows=40))
        expect(page.locator("#preview-facts")).to_contain_text("40 rows, 40 with a label. New classes: food, sport.")
        page.get_by_role("button", name="Add these texts").click()
        expect(page.locator("#upload-said")).to_contain_text("40 texts added")

        # Its model learns, and the start page tells.
        page.get_by_role("link", name="All projects").click()
        card = page.get_by_label("Sport <b>& food</b>", exact=True)
        expect(card).to_contain_text("40 of 40 labels, 40 texts, round 1")
        expect(card.locator(".badge")).to_have_text(["me"])
        shot(page, "start")
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(NAMELESS) == []
        assert [words for words in page.evaluate(CONTRASTS) if words[0] < 4.5] == []
        shot(page, "start-phone")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.route("**/api/projects", wait)
        expect(page.get_by_label("made up", exact=True)).to_contain_text(
            "The model's turn comes after mails, Sport-b-food."
        )
        page.unroute_all()

        # Somebody who is invited to one project knows nothing of the others.
        card.get_by_role("link").click()
        page.goto(f"{page.url}people")
        page.get_by_role("button", name="Make a link").click()
        expect(page.locator("#fresh-link")).to_be_visible()
        other = window.open(page.locator("#link").input_value())
        other.get_by_label("Name").fill("Ada")
        other.get_by_label("Password").fill("correct horse")
        other.get_by_role("button", name="Join").click()
        expect(other.get_by_role("heading", name="Nothing to label")).to_be_visible()
        expect(other.get_by_role("link", name="All projects")).to_have_count(0)
        other.goto(f"{address}/")
        expect(other.get_by_role("heading", name="Open your own link")).to_be_visible()
        other.goto(f"{address}/p/old/")
        assert other.url == f"{address}/p/old/login"

        # Closed, moved, and moved back under another name.
        page.goto(f"{address}/")
        page.get_by_role("button", name="Close made up").click()
        expect(page.get_by_text("Closed: its folder can be moved")).to_be_visible()
        (folder / "old").rename(tmp_path / "elsewhere")
        expect(cards).to_have_count(2)
        (tmp_path / "elsewhere").rename(folder / "new")
        expect(page.get_by_label("made up", exact=True)).to_contain_text("/p/new")
        expect(page.get_by_label("made up", exact=True)).to_contain_text("0 of 20 labels")
