"""Browser windows that keep note of everything that goes wrong in them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

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


class Window:
    """Each person has a browser of their own."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.problems: list[str] = []
        self._contexts: list[BrowserContext] = []

    def person(self, **options: Any) -> BrowserContext:
        """A browser that nobody has signed in with yet."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE)
        context.on("weberror", lambda failed: self.problems.append(str(failed.error)))
        # What a strict policy forbids, the browser says on its console.
        context.on("console", lambda said: self._note(said.type, said.text))
        # From the start: Chromium needs a while to watch requests, and those right after a first route slip past it.
        context.route("**/nowhere", lambda route: route.continue_())
        self._contexts.append(context)
        return context

    def open(self, address: str, **options: Any) -> Page:
        """A page in a new browser."""
        page = self.person(**options).new_page()
        page.goto(address)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _note(self, kind: str, text: str) -> None:
        # Requests that fail are said there too, and some tests want them to.
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.problems.append(text)
