from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from sqlalchemy import select

from hybridal.app.db.schema import Annotation, Class, Person, Prediction, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.people import add_person

from ..made_up import consensus, me
from .served import Served
from .window import HURRY, Window

pytestmark = pytest.mark.browser


def says(app: Served, person: Person, text: str, name: str, flagged: bool = False, decides: bool = False) -> None:
    with app.project.sessions.begin() as session:
        key = f"{person.name}-{text}-{decides}"
        annotate(session, person, text, "label", class_name=name, flagged=flagged, key=key, decides=decides)


def test_a_disagreement_is_decided(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        ada = add_person(session, "Ada", "annotator")
    for name, person in (("c", me(app.project)), ("b", ada)):
        says(app, person, "t3", name)
        says(app, person, "t4", "c", flagged=True)
    with app.project.sessions.begin() as session:
        archived = session.scalars(select(Class.number).where(Class.name == "c")).one()
        classes.archive(session, archived, "kept")
    page = window.open(app.link, at="/review#flagged")
    expect(page.locator(".item")).to_contain_text("c")
    expect(page.get_by_role("button", name="Keep c")).to_have_count(0)
    page.get_by_role("button", name="Open").click()
    final = page.get_by_role("dialog").get_by_label("Final class")
    expect(final).to_have_value("")  # not another class
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("#text-problem")).to_have_text("Choose a class first.")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Disagreements").click()
    expect(page.locator(".item")).to_contain_text("Ada")
    expect(page.get_by_role("button", name="c", exact=True)).to_have_count(0)
    page.get_by_role("button", name="b", exact=True).click()
    expect(page.locator("#items")).to_have_text("There are no disagreements.")
    assert consensus(app.project) == {"t3": ("b", "adjudicated"), "t4": ("c", "people")}


def test_a_probable_label_error_is_put_right_or_kept_for_good(window: Window, app: Served) -> None:
    for text in ("t5", "t6"):
        says(app, me(app.project), text, "a")
    with app.project.sessions.begin() as session:
        rows = session.scalars(select(Text.row).where(Text.id.in_(["t5", "t6"])).order_by(Text.id)).all()
        other = session.scalars(select(Class.number).where(Class.name == "c")).one()
        for row, probability in zip(rows, (0.97, 0.96), strict=True):
            session.add(Prediction(text_row=row, class_number=other, probability=probability, entropy=0.1, round=1))
    page = window.open(app.link, at="/review")
    first = page.locator(".item").first
    expect(first).to_contain_text("97%")
    first.get_by_role("button", name="Change to c").click()
    expect(first).to_contain_text("96%")
    first.get_by_role("button", name="Keep a").click()
    expect(page.locator("#items")).to_have_text("The model contradicts no label with a probability of 50% or more.")
    assert consensus(app.project) == {"t5": ("c", "adjudicated"), "t6": ("a", "adjudicated")}


def test_the_model_is_accepted_by_a_key_text_after_text(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    for text in ("t5", "t6", "t7"):
        says(app, me(app.project), text, "a")
    with app.project.sessions.begin() as session:
        rows = {text.id: text.row for text in session.scalars(select(Text))}
        other = session.scalars(select(Class.number).where(Class.name == "c")).one()
        for at, id in enumerate(("t5", "t6", "t7", "t8")):
            found = Prediction(text_row=rows[id], class_number=other, probability=0.9 - at / 100, entropy=0.1, round=1)
            session.add(found)
    page = window.open(app.link, at="/review")
    items = page.locator(".item")
    expect(items).to_have_count(3)
    for left, key in ((2, "."), (1, "k"), (0, ".")):
        page.wait_for_timeout(300)  # longer than a glance
        page.keyboard.press(key)
        expect(items).to_have_count(left)
        shot(page, f"review-{left}-left")
    page.get_by_role("tab", name="Most uncertain").click()
    expect(items).to_have_count(1)
    expect(items.get_by_role("button", name="Label as c")).to_be_visible()
    page.wait_for_timeout(300)
    page.keyboard.press(".")
    expect(page.locator("#items")).to_have_text("There are no predictions for unlabelled texts yet.")
    decided = {"t5": ("c", "adjudicated"), "t6": ("a", "adjudicated"), "t7": ("c", "adjudicated")}
    assert consensus(app.project) == {**decided, "t8": ("c", "people")}


def test_agreement_is_updated_after_a_decision(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        ada = add_person(session, "Ada", "annotator")
    for text in ("t1", "t2", "t3"):
        says(app, me(app.project), text, "a")
        says(app, ada, text, "b")
    page = window.open(app.link, at="/review#disagreements")
    expect(page.locator("#review-summary")).to_contain_text("3 texts were labelled by")
    page.get_by_role("button", name="b", exact=True).first.click()
    expect(page.locator("#review-summary")).to_contain_text("2 texts were labelled by")


def test_selected_tab_is_kept_when_a_decision_is_saved(window: Window, app: Served) -> None:
    for text in ("t1", "t2"):
        says(app, me(app.project), text, "a", flagged=True)
    page = window.open(app.link, at="/review#flagged", routed=True)
    held: list[Route] = []
    page.route("**/api/adjudications", lambda route: held.append(route))
    page.get_by_role("button", name="Keep a").first.click()
    page.get_by_role("tab", name="Skipped").click()
    expect(page.locator("#items")).to_have_text("Nothing was skipped.")
    held[0].continue_()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    page.wait_for_timeout(300)  # in which the list of flagged texts would come
    expect(page.locator("#items")).to_have_text("Nothing was skipped.")
    expect(page.get_by_role("tab", name="Skipped")).to_be_focused()


def hurried(window: Window, app: Served, at: str, **options: Any) -> Page:
    """The page of a person whose clock goes faster."""
    page = window.open(app.link, at="/log", **options)
    page.add_init_script(HURRY)
    page.goto(f"{app.address}{at}")
    return page


def row_of(page: Page, text: str) -> Locator:
    return page.locator("#items .item").filter(has=page.get_by_text(text, exact=True))


def test_changes_of_other_people_appear_on_the_open_page(window: Window, app: Served) -> None:
    owner = me(app.project)
    for text in ("t1", "t2"):
        says(app, owner, text, "a", flagged=True)
    page = hurried(window, app, "/review#flagged")
    expect(page.locator(".item .written")).to_have_text(["text 2", "text 1"])
    says(app, owner, "t1", "b", decides=True)
    says(app, owner, "t0", "a", flagged=True)
    expect(page.locator(".item .written")).to_have_text(["text 0", "text 2"])
    with app.project.sessions.begin() as session:
        ada = add_person(session, "Ada", "annotator")
        classes.add(session, ["d"])
    says(app, ada, "t0", "c")
    expect(page.get_by_role("tab", name="Disagreements")).to_have_text("Disagreements1")
    expect(row_of(page, "text 2").get_by_label("change to …").locator("option")).to_have_text(
        ["change to …", "b", "c", "d"]
    )


def test_focused_row_keeps_place_and_input_when_the_list_changes(window: Window, app: Served) -> None:
    owner = me(app.project)
    for text in ("t4", "t5", "t6", "t7", "t8"):
        says(app, owner, text, "a", flagged=True)
    page = hurried(window, app, "/review#flagged", viewport={"width": 360, "height": 400})
    row = row_of(page, "text 6")
    other = row.get_by_label("change to …")
    other.select_option("c")
    other.focus()
    page.evaluate("scrollTo(0, 300)")
    there = other.evaluate("select => select.getBoundingClientRect().top")
    for text in ("t0", "t1"):
        says(app, owner, text, "a", flagged=True)
    says(app, owner, "t7", "b", decides=True)
    expect(page.locator(".item .written")).to_have_text([f"text {n}" for n in (1, 0, 8, 6, 5, 4)])
    expect(other).to_be_focused()
    expect(other).to_have_value("c")
    assert other.evaluate("select => select.getBoundingClientRect().top") == pytest.approx(there, abs=1)
    says(app, owner, "t6", "b", decides=True)
    expect(row).to_contain_text("This text is no longer in the list")
    expect(page.get_by_role("tab", name="Flagged")).to_have_text("Flagged5")
    expect(other).to_be_focused()
    row.get_by_role("button", name="Save").click()
    expect(page.locator(".item .written")).to_have_text([f"text {n}" for n in (1, 0, 8, 5, 4)])
    expect(row_of(page, "text 5").get_by_role("button", name="Keep a")).to_be_focused()
    assert consensus(app.project)["t6"] == ("c", "adjudicated")


def test_focus_returns_to_the_row_of_an_opened_text(window: Window, app: Served) -> None:
    owner = me(app.project)
    for text in ("t1", "t2"):
        says(app, owner, text, "a", flagged=True)
    page = hurried(window, app, "/review#flagged")
    opener = row_of(page, "text 1").get_by_role("button", name="Open")
    opener.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    says(app, owner, "t1", "b", decides=True)
    for _ in range(2):  # what came with the one before would be shown
        with page.expect_response("**/api/texts?state=flagged"):
            pass
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(row_of(page, "text 1")).to_contain_text("no longer in the list")


def test_a_click_right_after_the_list_has_changed_by_itself_is_not_meant_for_it(window: Window, app: Served) -> None:
    owner = me(app.project)
    says(app, owner, "t1", "a", flagged=True)
    page = hurried(window, app, "/review#flagged")
    expect(row_of(page, "text 1")).to_be_visible()
    page.evaluate("""() => new MutationObserver((_, all) => {
      const click = (detail) => new MouseEvent("click", { bubbles: true, detail });
      const press = (row, detail) => row.querySelector("button").dispatchEvent(click(detail));
      const [first, second] = document.querySelectorAll(".item");
      press(first, 1); // where another row was
      press(second, 0); // by keyboard, which stays with its row
      all.disconnect();
    }).observe(document.getElementById("items"), { childList: true })""")
    says(app, owner, "t0", "a", flagged=True)
    expect(page.locator(".item .written")).to_have_text(["text 0"])
    assert consensus(app.project) == {"t0": ("a", "people"), "t1": ("a", "adjudicated")}


def test_tabs_are_walked_with_arrows(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/review")
    page.get_by_role("tab", name="Probable label errors").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Skipped")).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text("Nothing was skipped.")


def test_on_a_phone_the_tab_that_is_open_is_in_view(window: Window, app: Served) -> None:
    says(app, me(app.project), "t3", "a", flagged=True)
    page = window.open(app.link, viewport={"width": 320, "height": 640})
    page.goto(f"{app.address}/review#skipped")
    expect(page.get_by_role("tab", name="Flagged")).to_have_text("Flagged1")  # which moves the others
    expect(page.get_by_role("tab", name="Skipped")).to_be_in_viewport(ratio=1)


def test_arrow_keys_walk_through_classes_without_deciding(window: Window, app: Served) -> None:
    says(app, me(app.project), "t3", "a", flagged=True)
    page = window.open(app.link, at="/review")
    expect(page.get_by_role("tab", name="Flagged")).to_have_text("Flagged1")
    page.get_by_role("tab", name="Flagged").click()
    other = page.get_by_label("change to …")
    other.focus()
    other.press("ArrowDown")
    other.press("ArrowDown")
    expect(other).to_have_value("c")
    assert consensus(app.project) == {"t3": ("a", "people")}
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#items")).to_have_text("Nothing is flagged.")
    assert consensus(app.project) == {"t3": ("c", "adjudicated")}


def test_a_double_click_decides_one_text_and_not_the_one_that_moves_up(window: Window, app: Served) -> None:
    for text in ("t1", "t2", "t3"):
        says(app, me(app.project), text, "a", flagged=True)
    page = window.open(app.link, at="/review#flagged")
    page.get_by_role("button", name="Keep a").first.click()
    expect(page.locator(".item")).to_have_count(2)
    page.mouse.down(click_count=2)  # where the mouse is still
    page.mouse.up(click_count=2)
    page.get_by_role("tab", name="Skipped").click()
    expect(page.locator("#items")).to_have_text("Nothing was skipped.")
    assert sorted(source for _, source in consensus(app.project).values()) == ["adjudicated", "people", "people"]


def test_enter_held_down_decides_one_text(window: Window, app: Served) -> None:
    for text in ("t1", "t2"):
        says(app, me(app.project), text, "a", flagged=True)
    page = window.open(app.link, at="/review#flagged")
    page.get_by_role("button", name="Keep a").first.focus()
    page.keyboard.down("Enter")
    expect(page.locator(".item")).to_have_count(1)
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    page.get_by_role("tab", name="Skipped").click()
    expect(page.locator("#items")).to_have_text("Nothing was skipped.")
    assert sorted(source for _, source in consensus(app.project).values()) == ["adjudicated", "people"]


def test_a_decision_that_is_pressed_twice_is_sent_once(window: Window, app: Served) -> None:
    says(app, me(app.project), "t1", "a", flagged=True)
    page = window.open(app.link, at="/review#flagged", routed=True)
    held: list[Route] = []
    page.route("**/api/adjudications", lambda route: held.append(route))
    keep = page.get_by_role("button", name="Keep a")
    keep.click()
    keep.click()
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("dialog")).to_be_visible()  # by now both would have left
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator("#items")).to_have_text("Nothing is flagged.")


def lose_the_reply(route: Route) -> None:
    route.fetch()
    route.abort()


def classes_given(app: Served, text: str) -> list[str | None]:
    """Classes of all annotations of a text, oldest first."""
    with app.project.reads() as session:
        given = select(Class.name).select_from(Annotation).join(Text, Text.row == Annotation.text_row)
        given = given.outerjoin(Class, Class.number == Annotation.class_number)
        return [*session.scalars(given.where(Text.id == text).order_by(Annotation.number))]


def test_a_decision_with_a_lost_response_is_recorded_once(window: Window, app: Served) -> None:
    says(app, me(app.project), "t1", "a", flagged=True)
    page = window.open(app.link, at="/review#flagged", routed=True)
    page.route("**/api/adjudications", lose_the_reply, times=1)
    page.get_by_role("button", name="Keep a").click()
    expect(page.locator("#toasts")).to_contain_text("The server cannot be reached.")
    page.get_by_role("button", name="Keep a").click()
    expect(page.locator("#items")).to_have_text("Nothing is flagged.")
    assert classes_given(app, "t1") == ["a", "a"]  # what was flagged, and the decision


def test_a_dialog_answer_with_a_lost_response_is_recorded_once_and_so_is_the_next(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/texts?search=text+12", routed=True)
    page.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog")

    def save(name: str) -> None:
        dialog.get_by_label("Your label").select_option(name)
        dialog.get_by_role("button", name="Save").click()

    for name, given in (("a", ["a"]), ("a", ["a"]), ("b", ["a", "b"]), ("a", ["a", "b", "a"])):
        page.route("**/api/annotations", lose_the_reply, times=1)
        save(name)
        expect(dialog.get_by_role("alert")).to_have_text("The server cannot be reached.")
        dialog.get_by_role("alert").evaluate("problem => (problem.textContent = '')")
        assert classes_given(app, "t12") == given
    save("a")
    expect(dialog).to_have_count(0)
    assert classes_given(app, "t12") == ["a", "b", "a"]


def test_repeated_clicks_open_a_text_once(window: Window, app: Served) -> None:
    page = window.open(app.link, at="/texts", routed=True)
    held: list[Route] = []
    page.route("**/api/texts/*", lambda route: held.append(route))
    page.get_by_role("button", name="Open").first.dblclick()
    page.locator("[name=state]").select_option("skipped")
    expect(page.locator("#items")).to_contain_text("No texts found.")  # by now both would have left
    for route in held:
        route.continue_()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert (len(held), page.locator("dialog").count()) == (1, 1)
