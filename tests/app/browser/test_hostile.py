from __future__ import annotations

from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from hybridal.app.api_tokens import make_token
from hybridal.app.db.schema import Delivery, Trainer
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.annotations import annotate
from hybridal.app.people import User, add_person, invite
from hybridal.app.project_settings import write
from hybridal.app.web.pages import PAGES
from hybridal.app.webhooks.delivery import add_webhook

from ..exchange.projects import prediction
from ..made_up import me
from .served import Served, served
from .window import Window, go_and_settle

pytestmark = pytest.mark.browser

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><b>bold</b>"
CONTROLS = "bell\x07 tab\t escape\x1b[31m override\u202e left\u2066 line\u2028end {{ 7*7 }} '; DROP TABLE texts; --"
CLASS = "<i onmouseover=\"document.title='owned'\">&amp;"


def test_texts_and_classes_are_escaped(window: Window, tmp_path: Path) -> None:
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


MARK = "window.owned = 1"
IMAGE = f'"><img src=x onerror="{MARK}"><script>{MARK}</script>'
BREAK = f"</script></textarea></title></select><svg onload='{MARK}'>{{{{7*7}}}}${{{MARK}}}"
MARKDOWN = f"""# {IMAGE}
[a](javascript:{MARK}) [b](JaVaScRiPt:alert) <javascript:{MARK}> ![c](x"onerror="{MARK})
[d](data:text/html,<script>{MARK}</script>)
<a href="javascript:{MARK}">e</a> [f]: javascript:{MARK} "t" [f] `{IMAGE}` | <iframe srcdoc="{BREAK}"> |
"""
INJECTED = (
    "img, iframe, object, embed, base, form[action], script:not([src]), main svg[onload], a[href^='javascript:' i]"
)


def plant(app: Served) -> str:
    """Put scripts into all inputs, and return an invitation link."""
    with app.project.sessions.begin() as session:
        write(session, {"name": IMAGE, "guidelines": MARKDOWN})
        for one in classes.active(session):
            classes.describe(session, one.number, BREAK, f"{IMAGE}\n{BREAK}")
        texts.add(session, [texts.Row(f"{IMAGE}{at}", f"{BREAK} {at}", None, {IMAGE: BREAK}) for at in range(6)])
        owner = me(app.project)
        others = [add_person(session, name, "reviewer") for name in (f"<img src=x onerror='{MARK}'>", BREAK[:80])]
        for at, (person, name) in enumerate(product(others, (CLASS, "b"))):
            id = f"{IMAGE}{at % 2}"
            annotate(session, person, id, "label", class_name=name, comment=IMAGE, flagged=True, key=f"{at}")
        annotate(session, others[0], f"{IMAGE}3", "skip", comment=BREAK, flagged=True, key="skip")
        annotate(session, owner, f"{IMAGE}4", "label", class_name=CLASS, comment=BREAK, key="mine")
        for at in (2, 4):
            prediction(session, f"{IMAGE}{at}", "b" if at == 4 else CLASS, 0.75)
        user = User(owner, "", "")
        make_token(session, user, f"<img src=x onerror='{MARK}'>", "owner")
        hook = add_webhook(
            session, app.project, f"https://example.org/?<script>{MARK}</script>".replace(" ", ""), ["ping"]
        )
        session.add(Delivery(webhook_number=hook.number, event=IMAGE, body=BREAK, problem=IMAGE, attempts=1, due=None))
        session.execute(update(Trainer).values(phase="failed", error=IMAGE))
        return invite(session, "annotator")[1]


def test_no_name_or_text_is_a_script_on_any_page(window: Window, tmp_path: Path) -> None:
    """Stored and reflected scripts as in Label Studio's labels and labelling configurations (CVE-2025-25296,
    CVE-2025-47783): names of classes, columns, files, people, tokens and webhooks, guidelines, comments and errors.
    """
    with served(tmp_path / "p", texts=[SCRIPT, CONTROLS], classes=[CLASS, "b", BREAK]) as app:
        invitation = plant(app)
        page = window.open(app.link, at="/")
        page.on("dialog", lambda dialog: window.problems.append(dialog.message))

        def look(path: str) -> None:
            go_and_settle(page, app.address + path)
            assert page.evaluate("window.owned") is None, path
            assert page.locator(INJECTED).count() == 0, (
                path,
                page.locator(INJECTED).first.evaluate("n => n.outerHTML"),
            )

        for path in [entry.path for entry in PAGES] + [
            "/programs/api",
            "/login",
            f"/join/{invitation}",
            f"/{quote(IMAGE)}",
        ]:
            look(path)
        for kind in ("contradicted", "disagreements", "uncertain", "flagged", "skipped"):
            look(f"/review#{kind}")
        look(f"/texts?state=labelled&class={quote(CLASS)}&search={quote('svg')}")
        look("/texts")
        for opener in page.get_by_role("button", name="Open").all()[:4]:
            opener.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert page.locator(INJECTED).count() == 0
            page.keyboard.press("Escape")
        look("/settings")
        named = {"name": f"{IMAGE}.csv".replace("/", ""), "mimeType": "text/csv"}
        content = f'"text","{IMAGE.replace(chr(34), chr(34) * 2)}"\n"a text","{BREAK}"\n'.encode()
        page.locator("input[type=file]").first.set_input_files({**named, "buffer": content})  # type: ignore[arg-type]
        expect(page.get_by_text("a text").first).to_be_visible()
        assert page.locator(INJECTED).count() == 0
        assert page.evaluate("window.owned") is None
