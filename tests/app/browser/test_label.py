from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select

from hybridal.app.db.schema import Prediction, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.removal import delete_texts

from .served import Served, served
from .window import HURRY, Window, wait_for_route

pytestmark = pytest.mark.browser


def shown(page: Page) -> str:
    """The text on the page, once it differs from `before`."""
    expect(page.locator("#text")).not_to_be_empty()
    return page.locator("#text").inner_text()


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_have_text("Saved")


def look(page: Page) -> None:
    """Wait until keys count again after the text has changed by itself."""
    page.wait_for_timeout(300)


def remark(page: Page, words: str) -> None:
    """Flags the text, and comments on it."""
    page.keyboard.press("f")
    page.keyboard.press("c")
    page.keyboard.type(words)
    page.keyboard.press("Enter")


def press_at_once(page: Page, keys: str) -> None:
    """Press within one turn of the page's event loop: presses from outside may come too late to be a bounce."""
    page.evaluate(
        """keys => {
            for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }""",
        keys,
    )


def press_with_the_next_text(page: Page, key: str) -> None:
    """Press as soon as another text is on the page."""
    page.evaluate(
        """key => {
            const press = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            const watch = new MutationObserver(() => (watch.disconnect(), press()));
            watch.observe(document.getElementById("text"), { childList: true });
        }""",
        key,
    )


def test_digits_label_s_skips_and_u_takes_back(window: Window, app: Served) -> None:
    page = window.open(app.link)
    first = shown(page)
    page.keyboard.press("2")
    second = shown(page)
    page.keyboard.press("s")
    page.keyboard.press("u")
    assert shown(page) == second != first
    expect(page.locator("#before")).to_have_text("Your previous label: skipped")
    page.keyboard.press("Control+z")
    assert shown(page) == first
    expect(page.get_by_role("button", name="b", exact=True)).to_have_class("chosen")
    saved(page)
    assert [action for _, action in app.answers()] == ["label", "skip", "withdraw", "withdraw"]
    expect(page.locator("#goal")).to_contain_text("0 of 20 labels")


def test_a_flag_and_a_comment_go_with_the_answer_and_are_gone_with_the_next_text(window: Window, app: Served) -> None:
    page = window.open(app.link)
    shown(page)
    remark(page, "1 of 3?")
    expect(page.locator("#comment")).not_to_be_focused()  # or a space would open the comment again
    page.keyboard.press("1")
    expect(page.locator("#flag")).to_have_attribute("aria-pressed", "false")
    saved(page)
    page.goto(f"{app.address}/texts?state=flagged")
    expect(page.locator(".item")).to_have_count(1)
    expect(page.locator(".item")).to_contain_text("1 of 3?")


def test_answers_given_without_a_connection_survive_a_reload_and_arrive_once(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)
    page.keyboard.press("1")
    saved(page)

    def lose_the_reply(route: Route) -> None:
        route.fetch()
        route.abort()

    # The first annotation arrives, but its reply is lost; the others are not sent.
    page.route("**/api/annotations", lambda route: route.abort())
    page.route("**/api/annotations", lose_the_reply, times=1)
    page.keyboard.press("2")
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    page.keyboard.press("3")
    page.keyboard.press("s")
    expect(page.locator("#saved")).to_have_text("3 annotations waiting to be sent")
    page.unroute_all()
    page.reload()
    saved(page)
    answers = app.answers()
    assert [action for _, action in answers] == ["label", "label", "label", "skip"]
    assert len({id for id, _ in answers}) == 4
    assert shown(page) not in {f"text {id[1:]}" for id, _ in answers}


def test_dozens_of_texts_are_labelled_without_a_connection(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    with served(tmp_path / "p", texts=[f"text {n}" for n in range(200)]) as app:
        page = window.open(app.link)
        # Otherwise answers this quick would count as meant for the text before.
        page.add_init_script("const real = performance.now.bind(performance); performance.now = () => 1000 * real()")
        with page.expect_response("**/api/next/spare*"):
            page.reload()
        seen = [shown(page)]
        page.context.set_offline(True)
        expect(page.locator("#offline")).to_contain_text("No connection. 4")
        for n in range(36):
            page.keyboard.press(str(n % 3 + 1))
            expect(page.locator("#text")).not_to_have_text(seen[-1])
            seen.append(shown(page))
        expect(page.locator("#offline")).to_contain_text("36 answers wait on this device and are sent later.")
        expect(page.locator("#saved")).to_have_text("36 annotations waiting to be sent")
        shot(page, "offline")
        assert app.answers() == []
        page.context.set_offline(False)
        saved(page)
        expect(page.locator("#offline")).to_be_empty()
        answered = [f"text {id[1:]}" for id, _ in app.answers()]
        assert answered == seen[:-1]
        assert len({*seen}) == 37
        # The text on the page stays, and the next ones come from the server again.
        assert shown(page) == seen[-1]
        page.keyboard.press("1")
        saved(page)
        assert len(app.answers()) == 37


def test_pauses_between_attempts_are_short_again_when_the_connection_is_back(window: Window, app: Served) -> None:
    page = window.open(app.link)
    shown(page)
    pauses = page.evaluate(
        """async () => {
          const { src } = document.querySelector("script[src*=label]");
          const { Outbox } = await import(src.replace("label.js", "outbox.js"));
          const pauses = [];
          const real = setTimeout;
          Math.random = () => 0.5; // no jitter
          window.setTimeout = (act, ms) => (pauses.push(ms), real(act, 0));
          let attempts = 0;
          const send = async () => {
            attempts += 1;
            if (attempts === 9) dispatchEvent(new Event("online")); // while the ninth attempt is under way
            if (attempts < 12) throw Object.assign(new Error("no connection"), { isTemporary: true, status: 0 });
          };
          const storage = {
            setItem(name, value) { this[name] = value; },
            getItem(name) { return this[name]; },
            removeItem(name) { delete this[name]; },
          };
          const outbox = new Outbox(storage, "test", send);
          const arrived = new Promise((resolve) => outbox.addEventListener("acknowledged", resolve));
          outbox.add({ path: "/", body: { key: "k" } });
          await arrived;
          return pauses.filter((ms) => [1, 2, 4, 8, 16, 30].includes(ms / 1000)).map((ms) => ms / 1000);
        }"""
    )
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30, 1, 2, 4]


def test_an_answer_outlives_the_page_of_a_wifi_that_wants_a_password(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    first = shown(page)
    page.route("**/api/annotations", lambda route: route.fulfill(content_type="text/html", body="<h1>Welcome</h1>"))
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    assert shown(page) != first
    page.unroute_all()
    saved(page)
    assert len(app.answers()) == 1


def test_a_page_sends_nothing_for_another_person_who_has_signed_in(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)

    def other(route: Route) -> None:
        project = route.fetch().json()
        route.fulfill(json={**project, "me": {**project["me"], "number": 9}})

    page.route("**/api/annotations", lambda route: route.fulfill(status=403, json={"error": "out of date"}))
    page.route("**/api/project", other, times=1)
    with page.expect_navigation():
        page.keyboard.press("1")
    assert app.answers() == []
    page.unroute_all()
    saved(page)
    assert len(app.answers()) == 1


def test_an_answer_whose_request_hangs_is_sent_again(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    page.add_init_script(
        "const wait = AbortSignal.timeout; AbortSignal.timeout = (ms) => wait.call(AbortSignal, ms / 30)"
    )
    page.reload()
    shown(page)
    held: list[Route] = []
    page.route("**/api/annotations", lambda route: held.append(route), times=1)
    page.keyboard.press("1")
    wait_for_route(page, held)
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    saved(page)
    assert len(app.answers()) == 1


def test_a_server_that_answers_with_an_error_is_not_called_a_lost_connection(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/progress", routed=True)
    full = {"error": "The server's disk is full, so nothing was changed. Free some space and try again."}
    page.route("**/api/next*", lambda route: route.fulfill(status=503, json=full))
    page.goto(app.address)
    expect(page.locator("#empty")).to_contain_text("No texts available")
    expect(page.locator("#empty")).to_contain_text("disk is full")


def test_labels_that_a_full_disk_delays_are_kept_and_the_reason_is_shown(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    full = {"error": "The server's disk is full, so nothing was changed. Free some space and try again."}
    page.route("**/api/annotations", lambda route: route.fulfill(status=503, json=full))
    shown(page)
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    expect(page.locator("#toasts .toast")).to_have_count(1)
    expect(page.locator("#toasts")).to_contain_text("disk is full")
    page.unroute_all()
    saved(page)
    expect(page.locator("#toasts .toast")).to_have_count(0)


def test_undo_reaches_back_beyond_a_reload(window: Window, app: Served) -> None:
    page = window.open(app.link)
    first = shown(page)
    page.keyboard.press("1")
    saved(page)
    page.reload()
    assert shown(page) != first
    page.keyboard.press("u")
    expect(page.locator("#text")).to_have_text(first)
    page.keyboard.press("u")
    expect(page.locator("#last")).to_have_text("Nothing to undo")


def test_an_answer_that_is_refused_comes_back_with_its_reason(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    text = shown(page)
    held: list[Route] = []
    page.route("**/api/annotations", lambda route: held.append(route), times=1)
    page.keyboard.press("1")
    assert shown(page) != text
    press_with_the_next_text(page, "2")  # meant for the text that was there before
    wait_for_route(page, held).fulfill(status=404, json={"error": "There is no class 'a' any more."})
    expect(page.locator("#toasts")).to_contain_text("There is no class 'a' any more.")
    assert shown(page) == text
    look(page)
    page.keyboard.press("2")
    saved(page)
    assert len(app.answers()) == 1


def test_a_text_that_was_deleted_meanwhile_does_not_come_back(window: Window, app: Served) -> None:
    page = window.open(app.link)
    text = shown(page)
    with app.project.sessions.begin() as session:
        delete_texts(session, session.scalars(select(Text.row).where(Text.body == text)).all(), at=1.0)
    page.keyboard.press("1")
    expect(page.locator("#toasts")).to_contain_text("Not saved: The text")
    assert shown(page) != text
    look(page)
    page.keyboard.press("2")
    saved(page)
    assert len(app.answers()) == 1


def test_refused_annotation_is_reported_on_every_page(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)
    page.route("**/api/annotations", lambda route: route.abort())
    page.keyboard.press("1")
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    with app.project.sessions.begin() as session:
        classes.rename(session, classes.find(session, "a").number, "apple")
    page.goto(f"{app.address}/texts")
    expect(page.locator("#saved")).to_have_text("1 annotation waiting to be sent")
    page.unroute("**/api/annotations")
    expect(page.locator("#toasts")).to_have_text("Not saved: There is no class 'a'.Close")
    assert app.answers() == []


def test_new_classes_appear_on_the_open_page_and_keys_keep_their_class(window: Window, app: Served) -> None:
    context = window.person()
    context.add_init_script(HURRY)
    page = context.new_page()
    page.goto(app.link)
    shown(page)
    buttons = page.locator("#classes button bdi")
    page.get_by_role("button", name="b", exact=True).focus()
    with app.project.sessions.begin() as session:
        classes.add(session, ["d"])
        classes.rename(session, classes.find(session, "a").number, "apple")
    expect(buttons).to_have_text(["apple", "b", "c", "d"])
    expect(page.get_by_role("button", name="b", exact=True)).to_be_focused()
    with app.project.sessions.begin() as session:
        classes.place(session, classes.find(session, "d").number, 0)
    with page.expect_response("**/api/project"):
        pass
    with page.expect_response("**/api/project"):
        pass  # what came with the one before is shown
    expect(buttons).to_have_text(["apple", "b", "c", "d"])
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(buttons).to_have_text(["d", "apple", "b", "c"])


def test_responses_do_not_interrupt_a_comment(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    first = shown(page)
    held: list[Route] = []
    page.route("**/api/annotations", lambda route: held.append(route), times=1)
    page.keyboard.press("1")
    second = shown(page)
    page.keyboard.press("c")
    page.keyboard.type("no ")
    with page.expect_response("**/api/project"):
        wait_for_route(page, held).fulfill(status=404, json={"error": "There is no class 'a' any more."})
    page.keyboard.type("class")  # outside of the field, some of these letters would be answers
    assert shown(page) == second
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    assert shown(page) == first
    saved(page)
    page.goto(f"{app.address}/texts?state=labelled")
    expect(page.locator(".item")).to_have_count(1)
    expect(page.locator(".item")).to_contain_text(second)
    expect(page.locator(".item")).to_contain_text("no class")


def test_going_back_keeps_the_next_text_and_its_flag(window: Window, app: Served) -> None:
    page = window.open(app.link, routed=True)
    shown(page)
    held: list[Route] = []
    page.route("**/api/next*", lambda route: held.append(route), times=1)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asked = wait_for_route(page, held)
    late = asked.fetch()
    for n in range(7):  # beyond what the page had when it asked
        page.keyboard.press("12"[n % 2])
        expect(page.locator("#goal")).to_contain_text(f"{n + 1} of 20 labels")
        text = shown(page)
    page.keyboard.press("f")
    with page.expect_response("**/api/project"):
        asked.fulfill(response=late)
    expect(page.locator("#text")).to_have_text(text)
    expect(page.locator("#flag")).to_have_attribute("aria-pressed", "true")


def test_keys_are_silent_in_fields_and_dialogs_and_when_switched_off(window: Window, app: Served) -> None:
    page = window.open(app.link)
    text = shown(page)
    page.keyboard.press("?")
    page.keyboard.press("1")
    page.get_by_label("Use single keys").uncheck()
    page.get_by_role("button", name="Back to the texts").click()
    page.keyboard.press("1")
    assert shown(page) == text
    page.get_by_role("button", name="a", exact=True).click()
    assert shown(page) != text
    saved(page)
    assert len(app.answers()) == 1


def test_classes_are_defined_while_labelling(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "q", classes=()) as app:
        page = window.open(app.link)
        text = shown(page)  # before anybody has to say what it could be
        page.get_by_role("button", name="Define the first class").click()
        page.keyboard.type("bug")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="bug")).to_be_visible()
        assert shown(page) == text
        page.keyboard.press("+")
        page.keyboard.type("request")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="request")).to_be_visible()
        page.keyboard.press("2")
        assert shown(page) != text
        saved(page)


def test_a_class_that_is_defined_for_a_text_leaves_its_flag_and_comment(window: Window, app: Served) -> None:
    page = window.open(app.link)
    shown(page)
    remark(page, "none of these")
    page.keyboard.press("+")
    page.keyboard.type("other")
    with page.expect_response("**/api/project"):
        page.keyboard.press("Enter")
    page.get_by_role("button", name="other").click()
    saved(page)
    page.goto(f"{app.address}/texts?state=flagged")
    expect(page.locator(".item")).to_contain_text("none of these")


def test_a_class_among_many_is_found_by_its_name(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "q", classes=[f"class number {n}" for n in range(40)]) as app:
        page = window.open(app.link)
        shown(page)
        page.keyboard.press("/")
        page.keyboard.type("number 37")
        expect(page.locator("#classes button:visible")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator("#last")).to_have_text("Labelled “class number 37”")
        saved(page)


MANY = [f"class {n}" for n in range(30)] + ["card_arrival", "card_not_working", "Überweisung", "carry_on_arrest"]


def test_a_class_is_found_by_parts_of_its_name_and_enter_picks_the_first_shown(
    window: Window, tmp_path: Path, shot: Callable[[Page, str], None]
) -> None:
    with served(tmp_path / "p", classes=MANY, show_predictions=True) as app:
        page = window.open(app.link)
        finder = page.get_by_role("searchbox")
        shown_classes = page.locator(".classes button:visible bdi")
        expect(page.get_by_role("button", name="card_arrival")).to_be_enabled()
        before = page.locator(".text").bounding_box()
        page.keyboard.press("/")
        for typed, names in (
            ("card arr", ["card_arrival"]),
            ("car arr", ["card_arrival", "carry_on_arrest"]),
            ("ubw", ["Überweisung"]),
            ("zzz", []),
        ):
            finder.fill(typed)
            expect(shown_classes).to_have_text(names)
            assert page.locator(".text").bounding_box() == before
        page.keyboard.press("Enter")
        expect(finder).to_have_value("zzz")
        finder.fill("CARD arr")
        page.keyboard.press("Tab")
        found = page.get_by_role("button", name="card_arrival")
        expect(found).to_be_focused()
        expect(found).to_have_css("outline-width", "3px")  # also where it is the first that was found
        finder.focus()
        shot(page, "finder")
        page.keyboard.press("Enter")
        expect(page.locator("#last")).to_have_text("Labelled “card_arrival”")
        expect(finder).to_have_value("")
        page.keyboard.press("/")
        page.keyboard.press("Enter")
        saved(page)
        assert len(app.answers()) == 1, "nothing was typed, and nothing predicted"


def test_the_predicted_class_comes_first_among_many(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", classes=MANY, show_predictions=True) as app:
        with app.project.sessions.begin() as session:
            for row in session.scalars(select(Text.row)).all():
                session.add(Prediction(text_row=row, class_number=25, probability=0.8, entropy=0.1, round=1))
        page = window.open(app.link)
        first = page.locator(".classes button:visible bdi").first
        expect(first).to_have_text("class 24")
        page.keyboard.press("/")
        page.keyboard.type("class")
        expect(first).to_have_text("class 24")
        page.keyboard.type(" 3")
        expect(first).to_have_text("class 3")
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.press("Enter")
        expect(page.locator("#last")).to_have_text("Labelled “class 24”")


def test_on_a_small_phone_the_predicted_class_and_the_text_can_be_read(window: Window, tmp_path: Path) -> None:
    names = [f"{n}_balance_not_updated_after_cash_deposit" for n in range(30)]
    with served(tmp_path / "p", classes=names, show_predictions=True) as app:
        with app.project.sessions.begin() as session:
            for row in session.scalars(select(Text.row)).all():
                session.add(Prediction(text_row=row, class_number=25, probability=0.8, entropy=0.1, round=1))
        page = window.open(app.link, viewport={"width": 320, "height": 640})
        shown(page)
        names_of = page.locator("#classes button bdi")
        width = "name => name.offsetWidth"
        assert names_of.nth(0).evaluate(width) == names_of.nth(1).evaluate(width), "without predictions"
        assert page.locator("#body").evaluate("body => body.clientHeight") >= 80


@pytest.mark.parametrize("names", [[f"class {n}" for n in range(30)], ["a name that fills its line " * 4] * 4])
def test_with_long_names_on_a_small_phone_all_buttons_stay_on_screen(
    window: Window, tmp_path: Path, names: list[str]
) -> None:
    words = "100 more labels should raise the score by about 33 points (likely 6 to 90). Keep labelling."
    with served(tmp_path / "p", classes=[f"{n} {name}" for n, name in enumerate(names)]) as app:
        page = window.person(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True).new_page()
        page.route("**/api/progress", lambda route: route.fulfill(json={"advice": words, "finish": {"advised": False}}))
        page.goto(app.link)
        expect(page.locator("#advice")).to_have_text(words)
        expect(page.locator("#trainer p")).not_to_be_empty()
        for name in ("Skip", "Undo", "Help"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


def test_label_page_shows_the_advice(window: Window, app: Served, shot: Callable[[Page, str], None]) -> None:
    page = window.person().new_page()
    words = "100 more labels should raise the score by about 0.4 points (likely 0.0 to 1.1). " * 2 + "You can stop."
    page.route("**/api/progress", lambda route: route.fulfill(json={"advice": words, "finish": {"advised": False}}))
    page.goto(app.link)
    expect(page.locator("#advice")).to_have_text(words)
    assert page.locator("#advice").evaluate("shown => shown.scrollHeight <= shown.clientHeight"), "nothing is cut off"
    expect(page.locator("#goal")).to_contain_text("20 to go")
    shot(page, "advice")
    app.project.decide({"budget": 1})
    page.reload()
    shown(page)
    page.keyboard.press("1")
    expect(page.locator("#goal")).to_contain_text("All planned labels given")
    expect(page.locator("#advice")).to_have_text(
        "All planned labels are given, but the model may need more. An owner can plan more in Settings."
    )
    shot(page, "advice-plan-complete")
    page.set_viewport_size({"width": 390, "height": 844})
    shot(page, "advice-phone")


def test_a_tap_leaves_no_class_highlighted_on_the_next_text(window: Window, app: Served) -> None:
    page = window.open(app.link, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    before = shown(page)
    page.get_by_role("button", name="b", exact=True).tap()
    expect(page.locator("#text")).not_to_have_text(before)
    colours = "buttons => buttons.map(button => getComputedStyle(button).backgroundColor)"
    page.wait_for_timeout(300)  # the transition of the tap
    assert len(set(page.locator(".classes button").evaluate_all(colours))) == 1


def test_long_names_of_many_classes_stay_within_their_buttons(window: Window, tmp_path: Path) -> None:
    names = [f"{n}_balance_not_updated_after_cheque_or_cash_deposit_of_somebody_else" for n in range(30)]
    with served(tmp_path / "q", classes=names) as app:
        page = window.open(app.link, viewport={"width": 375, "height": 667})
        shown(page)
        heights = "buttons => buttons.map(b => [b.querySelector('bdi').offsetHeight, b.clientHeight])"
        for name, button in page.locator("#classes button").evaluate_all(heights):
            assert name <= button
        page.keyboard.press("?")
        assert page.locator("#help-title").evaluate("title => title.getBoundingClientRect().top > 0")


def test_a_key_that_bounces_or_is_held_down_is_one_answer_and_another_is_another(window: Window, app: Served) -> None:
    page = window.open(app.link)
    shown(page)
    press_at_once(page, "1133")
    saved(page)
    assert len(app.answers()) == 2
    look(page)
    press_at_once(page, "1f1")  # the same key counts where a remark was made in between
    saved(page)
    assert len(app.answers()) == 4
    look(page)
    page.get_by_role("button", name="a", exact=True).focus()
    page.keyboard.down("Enter")
    look(page)  # longer than what counts as a bounce
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    saved(page)
    assert len(app.answers()) == 5


def test_a_text_answered_in_another_tab_is_gone_from_this_one(window: Window, app: Served) -> None:
    page = window.open(app.link)
    first = shown(page)
    other = page.context.new_page()
    other.goto(app.address)
    assert shown(other) == first
    other.keyboard.press("1")
    expect(page.locator("#text")).not_to_have_text(first)
    assert shown(page) == shown(other)


def test_undo_withdraws_annotations_of_this_tab(window: Window, app: Served) -> None:
    page = window.open(app.link)
    first = shown(page)
    page.keyboard.press("1")
    saved(page)
    other = page.context.new_page()
    other.goto(app.address)
    assert shown(other) != first
    other.keyboard.press("2")
    saved(other)
    page.keyboard.press("u")
    assert shown(page) == first
    saved(page)
    (mine, _), (theirs, _), back = app.answers()
    assert back == (mine, "withdraw") != (theirs, "withdraw")


def test_whether_nearly_all_texts_of_a_class_are_found(window: Window, tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(6)]
    with served(tmp_path / "p", texts, validation_first=0, validation_share=0.0) as app:
        page = window.open(app.link)
        shown(page)
        opener, dialog = page.get_by_role("button", name="Nearly all found?"), page.get_by_role("dialog")
        expect(opener).to_be_hidden()
        page.get_by_label("What to label next").select_option("Most likely: b")
        opener.click()
        expect(dialog).to_contain_text("Are nearly all texts of “b” found?")
        expect(dialog).to_contain_text(
            "Labelled as this class: 0. Without a label, and not given this class by the model: 6."
        )
        dialog.get_by_role("button", name="Draw 6 random texts").click()
        expect(page.locator("#toasts")).to_contain_text("The sample is drawn. Its texts come next.")
        expect(dialog).to_be_hidden()
        seen: set[str] = set()
        while len(seen) < len(texts):
            body = shown(page)
            assert body not in seen
            seen.add(body)
            look(page)
            page.keyboard.press("2" if body == "text 2" else "1")
            expect(page.locator("#text")).not_to_have_text(body)
        saved(page)
        expect(page.locator("#empty")).to_be_visible()
        opener.click()
        expect(dialog).to_contain_text("Random ones of these that are labelled: 6 of 6. Of this class: 1.")
        expect(dialog).to_contain_text("At least 100% of the texts of this class are found, with 95% confidence.")
        expect(dialog.get_by_role("button", name="Draw")).to_be_hidden()
