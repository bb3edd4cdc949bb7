from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser


def test_a_page_without_its_script_offers_to_reload(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    for script in ("label.js", "card.js"):
        page.route(f"**/{script}", lambda route: route.abort())
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("Part of this page did not load")
        page.unroute_all()
        page.get_by_role("link", name="Reload").click()
        expect(page.locator("#text")).not_to_be_empty()
        expect(page.locator("#load-error")).to_be_hidden()


def test_a_page_reports_that_it_waits_for_the_server(window: Window, app: Served) -> None:
    page = window.person().new_page()
    page.goto(app.link)
    page.clock.install()
    page.route("**/api/project", lambda route: route.fulfill(status=500, json={"error": "The disk is full."}))
    page.reload()
    expect(page.locator("#toasts")).to_contain_text("The disk is full.")
    page.clock.run_for(20_000)
    expect(page.locator("#toasts")).to_contain_text("The disk is full.")
    page.unroute_all()
    page.clock.run_for(5_000)
    expect(page.locator("#text")).not_to_be_empty()
    expect(page.locator("#toasts")).to_be_empty()


def test_blocked_browser_storage_is_reported(window: Window, app: Served) -> None:
    context = window.browser.new_context()  # scripts fail here, and may
    page = context.new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('Denied.') } })")
    page.goto(app.link)
    expect(page.locator("#toasts")).to_contain_text("Denied.")
    context.close()
