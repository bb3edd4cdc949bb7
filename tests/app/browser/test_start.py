from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from hybridal.app.serve import HERE, bind
from hybridal.app.trainer import supervisor
from hybridal.app.trainer.cycle import Cycle
from hybridal.app.trainer.trainer_slots import TrainerQueue
from hybridal.app.web import host
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.host import Host
from hybridal.app.web.operator import Operator
from hybridal.app.web.start import create_start_app
from hybridal.testing.small import toy_file

from ..made_up import make
from ..trainer.projects import label_some, made
from .axe import Axe
from .test_looks import CONTRASTS, NAMELESS
from .window import HURRY, Window

pytestmark = pytest.mark.browser


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves all projects of a folder, with a place for one trainer; the operator's link."""
    link, listening = LoginLink(), bind(HERE[0], 0)
    projects = Host(folder, TrainerQueue(), local=True, settings={"backbone": "tiny"})
    server = uvicorn.Server(uvicorn.Config(create_start_app(projects, Operator(), link), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://{HERE[0]}:{listening.getsockname()[1]}/?token={link.token}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()
    assert not thread.is_alive()


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainers that never finish; new work is checked for often."""
    monkeypatch.setattr(supervisor, "command", lambda _: [sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(host, "SCAN_SECONDS", 0.1)


@pytest.mark.usefixtures("endless")
def test_projects_are_created_filled_queued_closed_and_moved(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    folder = tmp_path / "all"
    make(folder / "old").close()
    (folder / "torn").mkdir()
    (folder / "torn" / "project.json").write_text("<script>alert(1)</script>")
    with served(folder) as link:
        address = link.split("/?")[0]
        page = window.open(link)
        page.add_init_script(HURRY)
        cards = page.locator("#projects > li")
        expect(cards).to_have_count(2)
        expect(page.get_by_label("torn", exact=True)).to_contain_text(
            "project.json is damaged; restore it from a backup."
        )

        # A name full of traps is shown as it is, and its address is harmless.
        page.get_by_role("button", name="Continue without a file").click()
        name = page.get_by_label("Name of the project")
        expect(name).to_be_focused()
        name.fill("Sport <b>& food</b>")
        page.get_by_label("any number of classes").check()
        page.get_by_role("button", name="Create and start labelling").click()
        expect(page.get_by_role("heading", name="No texts yet")).to_be_visible()
        assert page.url == f"{address}/p/Sport-b-food-b/"
        page.get_by_role("link", name="Add texts").click()
        page.locator("#upload input[type=file]").set_input_files(toy_file(tmp_path, rows=40))
        expect(page.locator("#preview-facts")).to_contain_text("40 rows. 40 with a label. New classes: food, sport.")
        page.get_by_role("button", name="Add these texts").click()
        expect(page.locator("#upload-status")).to_contain_text("40 texts added")

        # Its model has to wait for another's, which it says on its own pages and, by name, on the start page.
        expect(page.locator("#trainer")).to_contain_text("Training waits for 1 other project")
        everything = page.get_by_role("link", name="All projects")
        assert everything.evaluate("link => link.offsetHeight") < 40, "one line"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        everything.scroll_into_view_if_needed()
        shot(page, "menu-of-an-operator")
        everything.click()
        card = page.get_by_label("Sport <b>& food</b>", exact=True)
        expect(card).to_contain_text("40 of 40 labels, 40 texts")
        expect(card).to_contain_text("Training waits for “made up”.")
        expect(card.locator(".badge")).to_have_text(["All labels given", "me"])
        shot(page, "start")
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(NAMELESS) == []
        assert [words for words in page.evaluate(CONTRASTS) if words[0] < 4.5] == []
        shot(page, "start-phone")
        page.set_viewport_size({"width": 1280, "height": 800})

        # A person invited to one project does not see the others.
        card.get_by_role("link").click()
        page.wait_for_url(f"{address}/p/*/")
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

        # Archived, it gives its place in line to others; moved, and moved back under another name.
        page.goto(f"{address}/")
        manage = page.get_by_role("dialog")
        page.get_by_role("button", name="Manage made up").click()
        manage.get_by_role("button", name="Archive").click()
        expect(page.get_by_text("nobody can label, and its folder can be moved")).to_be_visible()
        expect(card).not_to_contain_text("comes after")
        shot(page, "start-archived")
        page.get_by_role("button", name="Manage made up").click()
        manage.get_by_role("button", name="Restore").click()
        expect(page.locator("#projects").get_by_label("made up", exact=True)).to_contain_text("0 of 20 labels")
        (folder / "old").rename(tmp_path / "elsewhere")
        expect(cards).to_have_count(2)
        (tmp_path / "elsewhere").rename(folder / "new")
        expect(page.locator("#projects").get_by_label("made up", exact=True)).to_contain_text("/p/new")
        expect(page.locator("#projects").get_by_label("made up", exact=True)).to_contain_text("0 of 20 labels")


@pytest.mark.usefixtures("endless")
def test_a_project_is_renamed_and_deleted_in_the_browser(
    window: Window, tmp_path: Path, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    for name in ("old", "other"):
        make(tmp_path / "all" / name, classes=()).close()
    with served(tmp_path / "all") as link:
        page = window.open(link)
        dialog = page.get_by_role("dialog")
        card = page.locator("#projects > li").filter(has_text="/p/old")
        expect(card).to_contain_text("No label yet; created:")
        card.get_by_role("button", name="Manage made up").press("Enter")
        expect(dialog).to_be_visible()
        shot(page, "manage-project")
        assert axe.faults(page) == []
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.set_viewport_size({"width": 360, "height": 640})
        assert axe.faults(page) == []
        shot(page, "manage-project-phone-dark")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        dialog.get_by_label("Name", exact=True).fill("Mails <2024>")
        dialog.get_by_role("button", name="Rename").click()
        expect(dialog).to_be_hidden()
        expect(card.get_by_role("heading")).to_have_text("Mails <2024>")
        card.get_by_role("button", name="Manage Mails <2024>").click()
        delete = dialog.get_by_role("button", name="Delete for ever")
        dialog.get_by_label("Type the name").fill("Mails")
        expect(delete).to_be_disabled()
        page.keyboard.press("Enter")
        dialog.get_by_label("Type the name").fill("Mails <2024>")
        delete.click()
        expect(page.locator("#projects > li")).to_have_count(1)
        assert [path.name for path in (tmp_path / "all").iterdir()] == ["other"]


@pytest.mark.usefixtures("endless")
def test_a_project_is_duplicated_exported_and_imported_in_the_browser(
    window: Window, tmp_path: Path, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    project = made(tmp_path / "all" / "old", backbone="tiny")
    label_some(project, 6, 6)
    cycle = Cycle(project)
    cycle.start()
    assert cycle.turn()
    project.close()
    with served(tmp_path / "all") as link:
        page = window.open(link)
        dialog, cards = page.get_by_role("dialog"), page.locator("#projects > li")
        page.get_by_role("button", name="Manage toys").click()
        expect(dialog.get_by_label("Name of the copy")).to_have_value("Copy of toys")
        dialog.get_by_role("button", name="Duplicate").click()
        expect(cards.filter(has_text="/p/Copy-of-toys")).to_contain_text("12 of 90 labels, 90 texts, round 1")
        page.get_by_role("button", name="Manage toys").click()
        dialog.get_by_label("Copy labels, people and model too").uncheck()
        dialog.get_by_role("button", name="Duplicate").click()
        expect(page.locator("#manage-problem")).to_contain_text("There is a folder 'Copy-of-toys' already")
        dialog.get_by_label("Name of the copy").fill("Fresh")
        dialog.get_by_role("button", name="Duplicate").click()
        expect(cards.filter(has_text="/p/Fresh")).to_contain_text("No label yet")
        page.get_by_role("button", name="Manage toys").click()
        dialog.get_by_label("With the model").check()
        shot(page, "export-project")
        with page.expect_download() as download:
            dialog.get_by_role("link", name="Export the project").click()
        download.value.save_as(tmp_path / "whole.zip")
        dialog.get_by_role("button", name="Close").click()
        page.get_by_role("heading", name="Import a project").click()
        assert axe.faults(page) == []
        page.get_by_label("Exported project").set_input_files(tmp_path / "all" / "old" / "project.json")
        expect(page.locator("#import .problem")).to_have_text("This file is not the export of a project.")
        shot(page, "import-project")
        page.get_by_label("Exported project").set_input_files(tmp_path / "whole.zip")
        expect(page.locator("#import-status")).to_have_text("“toys” can be imported.")
        expect(page.get_by_label("Import its model too (1 MB)")).to_be_checked()
        page.get_by_label("Name on this server").fill("Moved")
        page.locator("#import-status").scroll_into_view_if_needed()
        shot(page, "import-model")
        page.get_by_role("button", name="Import").click()
        expect(page.locator("#import-status")).to_have_text("“Moved” is imported.", timeout=90_000)
        expect(cards.filter(has_text="/p/Moved")).to_contain_text("12 of 90 labels, 90 texts, round 1")
        cards.filter(has_text="/p/Moved").get_by_role("link", name="Moved").click()
        page.wait_for_url("**/p/Moved/")
        page.goto(f"{page.url}texts")
        page.get_by_label("Order").select_option("most certain")
        expect(page.locator(".item").first).to_contain_text("%")
