"""Browser windows that record every error in them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Route,
    ViewportSize,
    WebError,
    expect,
)

# The build without windows takes a quarter less of CPU time.
PROGRAMS = ("chromium-headless-shell", "chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",
    # Each window would load two pages for its address bar, which take longer than ours. A second list replaces
    # Playwright's own, of which these are.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,PaintHolding,OptimizationHints,"
    "NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch",
]
PATIENCE = 60_000  # a busy machine is not a failing test
HURRY = """for (const name of ["setTimeout", "setInterval"]) {
  window[name] = ((real) => (act, ms, ...given) => real(act, ms / 10, ...given))(window[name]);
}"""
"""For `page.add_init_script`: pages that look every few seconds look ten times as often."""
expect.set_options(timeout=PATIENCE)


def installed_chromium() -> str:
    """The path of a Chromium; skips the test if there is none."""
    for program in map(shutil.which, PROGRAMS):
        if program is not None:
            return program
    pytest.skip("Chromium is not installed: `apt-get install chromium-headless-shell`, or `chromium`")


def new_person(browser: Browser, routed: bool = True, **options: Any) -> BrowserContext:
    """A browser without a session. One that is not `routed` is faster, because it caches files.

    Without service workers, which would answer requests that a test routes, and which take time to start.
    """
    usual = {"viewport": {"width": 1280, "height": 800}, "service_workers": "block"}
    context = browser.new_context(**{**usual, **options})
    context.set_default_timeout(PATIENCE)
    if routed:
        # From the start: Chromium needs a while to watch requests, and those right after a first route slip past it.
        context.route("**/nowhere", lambda route: route.continue_())
    return context


@dataclass(frozen=True)
class Warm:
    """Browsers with an open page, in which further pages open twice as fast."""

    plain: BrowserContext
    routed: BrowserContext

    @classmethod
    def of(cls, browser: Browser) -> Warm:
        return cls(_warmed(new_person(browser, routed=False)), _warmed(new_person(browser)))


def _warmed(context: BrowserContext) -> BrowserContext:
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto("http://127.0.0.1/")
    page.unroute_all()
    return context


class Window:
    """Each person has a browser of their own; the first of each test has one that is `warm`."""

    def __init__(self, browser: Browser, warm: Warm) -> None:
        self.browser = browser
        self.problems: list[str] = []
        self._warm = warm
        self._used: BrowserContext | None = None
        self._contexts: list[BrowserContext] = []

    def person(self, routed: bool = True, **options: Any) -> BrowserContext:
        """A new browser, for changes that cannot be undone, such as another clock."""
        context = new_person(self.browser, routed, **options)
        self._watch(context)
        self._contexts.append(context)
        return context

    def open(
        self,
        address: str,
        at: str | None = None,
        routed: bool = False,
        viewport: ViewportSize | None = None,
        reduced_motion: Literal["reduce"] | None = None,
        color_scheme: Literal["light", "dark"] | None = None,
        **options: Any,
    ) -> Page:
        """A page of a new person; `at` is opened after this address has signed them in.

        `routed`: what it asks for can be answered by the test. Other `options` need a browser that is not warm, which
        has to load all scripts: a second of CPU time.
        """
        if self._used is None and not options:
            context = self._used = self._warm.routed if routed else self._warm.plain
            self._watch(context)
        else:
            context = self.person(routed, **options)
        page = context.new_page()
        if viewport:
            page.set_viewport_size(viewport)
        if reduced_motion or color_scheme:
            page.emulate_media(reduced_motion=reduced_motion, color_scheme=color_scheme)
        if at is not None:
            context.request.get(address)
            address = f"http://{urlsplit(address).netloc}{at}"
        page.goto(address)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        if self._used is None:
            return
        kept, *pages = self._used.pages
        origins = {f"http://{urlsplit(page.url).netloc}" for page in pages}
        for page in pages:
            page.close()
        chromium = self._used.new_cdp_session(kept)
        for origin in origins:
            chromium.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        self._used.clear_cookies()
        self._used.remove_listener("weberror", self._failed)
        self._used.remove_listener("console", self._on_console)

    def _watch(self, context: BrowserContext) -> None:
        context.on("weberror", self._failed)
        # The browser reports violations of the Content-Security-Policy on its console.
        context.on("console", self._on_console)

    def _failed(self, failed: WebError) -> None:
        self.problems.append(str(failed.error))

    def _on_console(self, message: ConsoleMessage) -> None:
        # Failed requests are logged there too, and some tests cause them.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.problems.append(message.text)


def go_and_settle(page: Page, address: str) -> None:
    """Open the address, and wait until all requests of the page are answered."""
    asked: set[Request] = set()

    def ask(request: Request) -> None:
        asked.add(request)

    def get(request: Request) -> None:
        asked.discard(request)

    page.on("request", ask)
    page.on("requestfinished", get)
    page.on("requestfailed", get)
    page.goto(address)
    quiet = 0
    while quiet < 2:  # what has come may lead to another request
        page.wait_for_timeout(50)
        quiet = 0 if asked else quiet + 1
    page.remove_listener("request", ask)
    page.remove_listener("requestfinished", get)
    page.remove_listener("requestfailed", get)


def wait_for_route(page: Page, held: list[Route]) -> Route:
    """Return the request that a route handler appended to `held`, once it has arrived."""
    for _ in range(3000):
        if held:
            return held.pop()
        page.wait_for_timeout(10)
    raise AssertionError("The request did not arrive within 30 seconds.")
