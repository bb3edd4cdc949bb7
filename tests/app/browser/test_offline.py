from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from .served import Served
from .window import Window

pytestmark = pytest.mark.browser

QUICK = "const real = performance.now.bind(performance); performance.now = () => 1000 * real()"
"""Otherwise answers this quick would count as meant for the text before."""
TEXTS = """async () => {
  const opening = indexedDB.open("hybridal");
  await new Promise((resolve) => opening.addEventListener("success", resolve));
  const reading = opening.result.transaction("offline").objectStore("offline").getAll();
  await new Promise((resolve) => reading.addEventListener("success", resolve));
  opening.result.close();
  return reading.result.flatMap(({ items }) => items.map(({ text }) => text));
}"""


def answer(page: Page, n: int) -> list[str]:
    """Label n texts and return them."""
    texts = []
    for _ in range(n):
        expect(page.locator("#text")).not_to_be_empty()
        texts.append(page.locator("#text").inner_text())
        page.keyboard.press("1")
        expect(page.locator("#text")).not_to_have_text(texts[-1])
    return texts


def test_the_page_is_opened_without_a_connection_and_each_answer_counts_once(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    context = window.person(routed=False, service_workers="allow", locale="de")
    context.add_init_script(QUICK)
    page = context.new_page()
    page.goto(app.link)
    seen = answer(page, 2)
    expect(page.locator("#saved")).to_have_text("Gespeichert")
    page.evaluate("async () => { await navigator.serviceWorker.ready; }")  # it has kept the page
    page.keyboard.press("?")
    page.locator("#help-dialog summary").click()
    with page.expect_response("**/api/own-keys"):
        page.locator("#key-fields input").nth(1).fill("x")
    page.keyboard.press("Escape")
    page.wait_for_function(f"async (seen) => (await ({TEXTS})()).every((text) => !seen.includes(text))", arg=seen)
    context.set_offline(True)
    page.reload()
    expect(page.locator("#offline")).to_have_text(re.compile(r"Keine Verbindung\. 1\d Texte"))
    expect(page.locator("#skip kbd")).to_have_text("x")
    seen += answer(page, 2)
    page.close()
    page = context.new_page()
    page.goto(f"{app.address}/?likely=a")
    expect(page.locator("#offline")).to_contain_text("2 Antworten warten auf diesem Gerät")
    seen += answer(page, 2)
    shot(page, "offline-after-restart")
    context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("Gespeichert")
    expect(page.locator("#offline")).to_be_empty()
    seen += answer(page, 1)
    expect(page.locator("#saved")).to_have_text("Gespeichert")
    assert [f"text {id[1:]}" for id, _ in app.answers()] == seen
    assert len({*seen}) == 7
    page.goto(f"{app.address}/login")  # where people come who have signed out
    page.wait_for_function(f"async () => !(await caches.keys()).length && !(await ({TEXTS})()).length")
