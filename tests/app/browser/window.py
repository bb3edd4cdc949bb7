"""Browser windows that keep note of everything that goes wrong in them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, WebError, expect

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000  # a busy machine is not a failing test
expect.set_options(timeout=PATIENCE)


def new_person(browser: Browser, **options: Any) -> BrowserContext:
    """A browser that nobody has signed in with yet."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(PATIENCE)
    # From the start: Chromium needs a while to watch requests, and those right after a first route slip past it.
    context.route("**/nowhere", lambda route: route.continue_())
    return context


def warmed(browser: Browser) -> BrowserContext:
    """A person whose browser has a page open already: pages beside it take half as long to come."""
    context = new_person(browser)
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://127.0.0.1/")
    return context


class Window:
    """Each person has a browser of their own; the first of each test has the one that is `warm`."""

    def __init__(self, browser: Browser, warm: BrowserContext) -> None:
        self.browser = browser
        self.problems: list[str] = []
        self._warm, self._kept = warm, list(warm.pages)
        self._free = True
        self._contexts: list[BrowserContext] = []
        self._watch(warm)

    def person(self, **options: Any) -> BrowserContext:
        """A new browser: for what cannot be undone, such as another clock."""
        context = new_person(self.browser, **options)
        self._watch(context)
        self._contexts.append(context)
        return context

    def open(self, address: str, at: str | None = None, **options: Any) -> Page:
        """A page of a person who is new here; `at` is where they go once this address has let them in."""
        if self._free and not options:
            self._free, context = False, self._warm
        else:
            context = self.person(**options)
        page = context.new_page()
        if at is not None:
            context.request.get(address)
            address = f"http://{urlsplit(address).netloc}{at}"
        page.goto(address)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        pages = [page for page in self._warm.pages if page not in self._kept]
        origins = {f"http://{urlsplit(page.url).netloc}" for page in pages}
        for page in pages:
            page.close()
        chromium = self._warm.new_cdp_session(self._kept[0])
        for origin in origins:
            chromium.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        self._warm.clear_cookies()
        self._warm.remove_listener("weberror", self._failed)
        self._warm.remove_listener("console", self._said)

    def _watch(self, context: BrowserContext) -> None:
        context.on("weberror", self._failed)
        # What a strict policy forbids, the browser says on its console.
        context.on("console", self._said)

    def _failed(self, failed: WebError) -> None:
        self.problems.append(str(failed.error))

    def _said(self, said: ConsoleMessage) -> None:
        # Requests that fail are said there too, and some tests want them to.
        if said.type == "error" and not said.text.startswith("Failed to load resource"):
            self.problems.append(said.text)
