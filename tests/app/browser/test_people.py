from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from hybridal.app.people import invite
from hybridal.app.serve import name_owner

from ...helpers.chat_server import chat_server, labels
from .served import Served, served
from .window import Window

pytestmark = pytest.mark.browser


def test_a_second_annotator_joins_by_link_and_gets_other_texts(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    owner = window.open(app.link)
    expect(owner.locator("#text")).not_to_be_empty()
    mine = owner.locator("#text").inner_text()
    people = owner.context.new_page()
    people.goto(f"{app.address}/people")
    people.get_by_role("button", name="Make a link").click()
    link = people.get_by_label("The link (shown only once)")
    expect(link).not_to_have_value("")

    owner.keyboard.press("1")
    expect(owner.locator("#saved")).to_have_text("Saved")
    invitation = link.input_value()
    guest = window.open(invitation)
    guest.get_by_label("Name").fill("Ada")
    guest.get_by_label("Password").fill("correct horse")
    guest.keyboard.press("Enter")
    expect(guest.locator("#text")).not_to_be_empty()
    assert guest.locator("#text").inner_text() != mine
    assert guest.locator("nav a").all_inner_texts() == ["Label", "Texts", "Progress", "Comments", "Programs"]
    guest.keyboard.press("1")
    expect(guest.locator("#saved")).to_have_text("Saved")
    guest.goto(f"{app.address}/texts?state=labelled")
    expect(guest.locator("#found")).to_have_text("1 text")
    guest.goto(f"{app.address}/settings")
    expect(guest.get_by_role("main")).to_contain_text("Only owners can open this page.")

    people.reload()
    row = people.get_by_role("row", name="Ada")
    expect(row.get_by_role("cell").nth(2)).to_have_text("1")
    expect(people.locator("#invitations")).to_contain_text("used by Ada")
    shot(people, "people")

    late = window.open(invitation)
    expect(late.get_by_role("heading", name="No access")).to_be_visible()
    told = "This invitation has already been used; sign in, or ask for a new one."
    expect(late.get_by_role("main")).to_contain_text(told)


def test_double_click_creates_one_invitation(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/people", routed=True)
    held: list[Route] = []
    page.route(
        "**/api/invitations", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.get_by_role("button", name="Make a link").dblclick()
    page.reload()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
    assert len(held) == 1


def test_the_llm_is_followed_beyond_a_lost_connection(window: Window, app: Served) -> None:
    page = window.person().new_page()
    page.context.request.get(app.link)
    page.clock.install()
    page.goto(f"{app.address}/people")
    expect(page.locator("#llm")).to_contain_text("Not set up yet: enter an address and a model")

    def respond_running(route: Route) -> None:
        reply = route.fetch()
        told = reply.json()
        route.fulfill(response=reply, json={**told, "state": {**told["state"], "phase": "working"}})

    page.route("**/api/llm", respond_running)
    page.reload()
    expect(page.locator("#llm")).to_contain_text("Running.")
    page.unroute_all()
    page.route("**/api/llm", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/llm")):
        page.clock.run_for(4_000)
    page.unroute_all()
    page.clock.run_for(4_000)
    expect(page.locator("#llm")).to_contain_text("Not set up yet")


def test_an_llm_is_tried_on_five_texts_before_a_job(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    page = window.open(app.link, at="/people")
    with chat_server(lambda _: labels("b", 0.8)) as server:
        page.get_by_label("Address of the server").fill(server.url)
        page.get_by_label("Model", exact=True).fill("small")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#toasts")).to_contain_text("Saved")
        expect(page.locator("#llm")).to_contain_text("Stopped.")
        hint = page.locator("#llm").get_by_text("none of its answers becomes a label")
        expect(hint).to_be_hidden()
        page.get_by_label("Share of texts that people label too, as a test").fill("1")
        page.get_by_role("button", name="Save").click()
        expect(hint).to_be_visible()
        hint.scroll_into_view_if_needed()
        shot(page, "llm-hint")
        page.get_by_role("button", name="Try it on five texts").click()
        expect(page.locator(".trial > li")).to_have_count(5)
        expect(page.locator(".trial > li").first).to_contain_text("b (80%)")
        shot(page, "llm-trial")
    page.get_by_role("button", name="Try it on five texts").click()
    expect(page.locator("#toasts")).to_contain_text("failed (no connection).")  # once, not for each text
    expect(page.locator(".trial")).to_have_count(0)
    assert app.answers() == []


def test_a_password_never_gets_into_an_address(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        _, token = invite(session, "annotator")
    address = f"{app.address}/join/{token}"
    page = window.person().new_page()
    page.route("**/sign-in.js", lambda route: route.abort())
    page.goto(address)
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password").fill("correct horse")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Join")).to_be_disabled()
    assert page.url == address


def sign_in(page: Page, password: str) -> None:
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def test_a_password_is_changed_by_its_person_and_reset_by_an_owner(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    with app.project.sessions.begin() as session:
        _, token = invite(session, "annotator")
    ann = window.open(f"{app.address}/join/{token}")
    sign_in(ann, "correct horse")
    ann.get_by_role("button", name="Password").click()
    for old in ("wrong horse", "correct horse"):
        ann.get_by_label("Old password").fill(old)
        ann.get_by_label("New password").fill("battery staple")
        ann.get_by_role("button", name="Save").click()
        if old == "wrong horse":
            expect(ann.get_by_role("alert").last).to_have_text("The old password is wrong.")
            shot(ann, "password")
    expect(ann.locator("#toasts")).to_contain_text("Password changed.")
    owner = window.open(app.link, at="/people")
    owner.get_by_role("button", name="Reset password").click()
    owner.locator("dialog input[name=new]").fill("fresh start 1")
    owner.locator("dialog").get_by_role("button", name="Save").click()
    expect(owner.locator("#toasts")).to_contain_text("Password changed.")
    shot(owner, "people")
    again = ann.context.new_page()  # her old one goes to the login by itself, as soon as it notices
    again.goto(app.address)
    sign_in(again, "fresh start 1")
    expect(again.locator("#text")).not_to_be_empty()
    again.evaluate("() => { CacheStorage.prototype.delete = async () => { throw new Error('denied'); }; }")
    again.get_by_role("button", name="Sign out").click()
    expect(again).to_have_url(f"{app.address}/login")


def test_a_person_signed_in_by_a_proxy_can_label_and_the_owner_sets_the_role_of_new_people(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    with served(tmp_path / "p", sign_in_header="X-Remote-User") as app:
        name_owner(app.project, "ada")
        first = window.open(app.address, extra_http_headers={"X-Remote-User": "Bo"})
        expect(first.locator("#text")).not_to_be_empty()
        with first.expect_response("**/api/annotations"):
            first.keyboard.press("1")
        expect(first.get_by_role("button", name="Sign out")).to_have_count(0)
        owner = window.open(f"{app.address}/people", extra_http_headers={"X-Remote-User": "ada"})
        expect(owner.get_by_role("combobox", name="Role of Bo")).to_have_value("annotator")
        expect(owner.get_by_role("row", name="Bo").get_by_role("cell").nth(2)).to_have_text("1")
        expect(owner.get_by_role("button", name="Reset password")).to_have_count(0)
        owner.get_by_label("New people are").select_option("none")
        owner.get_by_role("region", name="New people").get_by_role("button", name="Save").click()
        expect(owner.get_by_text("Saved.")).to_be_visible()
        shot(owner, "newcomers")
        late = window.open(app.address, extra_http_headers={"X-Remote-User": "Cy"})
        expect(late.get_by_text("'Cy' is not among the people of this project; ask its owner.")).to_be_visible()
        expect(window.open(app.address).get_by_role("heading", name="Sign in first")).to_be_visible()
