from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect
from sqlalchemy import select

from hybridal.app.db.schema import Prediction, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.class_changes import Part, split
from hybridal.app.labelling.rechecks import add_rechecks
from hybridal.app.labelling.touched_labels import touched_labels
from hybridal.app.people import add_person

from ..made_up import consensus, me
from .axe import Axe
from .served import Served, served
from .window import Window, go_and_settle

pytestmark = pytest.mark.browser


def label_some(app: Served, name: str = "a", n: int = 3) -> None:
    with app.project.sessions.begin() as session:
        owner = me(app.project)
        for at in range(1, n + 1):
            annotate(session, owner, f"t{at}", "label", class_name=name, key=f"{name}{at}")


def queue_split(app: Served) -> None:
    """Split "a" into two classes."""
    with app.project.sessions.begin() as session:
        touched = touched_labels(session, 1, None)["class"]
        version = split(session, me(app.project), 1, [Part("apple"), Part("apricot", "with a stone")])
        add_rechecks(session, version, dict.fromkeys(touched, "class"))


def boxes(page: Page) -> list[tuple[float, float]]:
    """Top and height of the text's card and of the class buttons."""
    found = [page.locator(part).bounding_box() for part in ("section.text", "#classes")]
    return [(box["y"], box["height"]) for box in found if box]


def test_a_class_is_split_and_its_labels_are_looked_at_again(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    label_some(app)
    page = window.open(app.link, at="/settings")
    page.get_by_role("link", name="codebook").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Codebook")
    page.get_by_role("button", name="Split a", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its 3 labels are to be looked at again")
    expect(dialog.get_by_label("Keep “a” for the rest")).to_have_accessible_description(
        "Otherwise “a” is archived: it cannot be chosen any more, and the model no longer learns its labels."
    )
    dialog.get_by_label("The new classes, one per line").fill("apple: hard\n\n")
    dialog.get_by_role("button", name="Split the class").click()
    expect(dialog.get_by_role("alert")).to_have_text("Split a class into 2 to 20 classes of different names.")
    dialog.get_by_label("The new classes, one per line").fill("apple: hard: and sour\napricot")
    shot(page, "codebook-split")
    dialog.get_by_role("button", name="Split the class").click()
    expect(page.locator("#queue-list")).to_contain_text("“a” was split into “apple”, “apricot”.")
    expect(page.locator("#queue-list")).to_contain_text("3 labels left")
    expect(page.locator("#class-list li").first).to_contain_text("hard: and sour")
    shot(page, "codebook")

    page.get_by_role("link", name="Look at them").click()
    expect(page.locator("#old-answer")).to_have_text("Old answer: a")
    expect(page.locator("#recheck-note")).to_contain_text("Left: 3")
    shot(page, "recheck")
    first = page.locator("#text").inner_text()
    page.keyboard.press("1")
    expect(page.locator("#last")).to_have_text("Labelled “apple”")
    expect(page.locator("#text")).not_to_have_text(first)
    page.wait_for_timeout(300)  # an answer this soon after the last would be a bouncing key
    second = page.locator("#text").inner_text()
    page.keyboard.press("s")
    expect(page.locator("#last")).to_have_text("Left for later")
    expect(page.locator("#text")).not_to_have_text(second)
    page.wait_for_timeout(300)
    page.keyboard.press("2")
    expect(page.locator("#empty")).to_contain_text("Nothing left to look at again")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert sorted(name for name, _ in consensus(app.project).values()) == ["a", "apple", "apricot"]
    page.get_by_role("link", name="Back to new texts").first.click()
    expect(page.locator("#recheck-note")).to_contain_text("1 label to look at again")
    expect(page.locator("#old-answer")).to_be_hidden()

    page.goto(f"{app.address}/codebook")
    questions: list[str] = []

    def accept(asked: Dialog) -> None:
        questions.append(asked.message)
        asked.accept()

    page.on("dialog", accept)
    page.get_by_role("button", name="Keep the rest").click()
    expect(page.locator("#queues")).to_be_hidden()
    assert questions == [
        "Keep the old answer of 1 text? It is not asked about any more. "
        "“a” stays archived, and the model no longer learns these labels."
    ]


def test_an_answer_of_a_recheck_is_undone(window: Window, app: Served) -> None:
    label_some(app, n=6)
    queue_split(app)
    page = window.open(app.link, at="/?check=all")
    expect(page.locator("#old-answer")).to_have_text("Old answer: a")
    note = page.locator("#recheck-note")
    expect(note).to_contain_text("Left: 6")
    page.wait_for_timeout(300)
    with page.expect_response("**/api/annotations"):
        page.keyboard.press("1")
        expect(note).to_contain_text("Left: 5")  # although enough texts are there to go on with
    for _ in range(4):
        page.wait_for_timeout(300)
        page.keyboard.press("2")
    expect(note).to_contain_text("Left: 1")
    page.wait_for_timeout(300)
    page.keyboard.press("2")
    expect(page.locator("#empty")).to_contain_text("Nothing left")
    expect(note).to_contain_text("Left: 0")
    page.keyboard.press("u")
    expect(note).to_contain_text("Left: 1")
    expect(page.locator("#old-answer")).to_have_text("Old answer: a")
    expect(page.locator("#before")).to_have_text("Your previous label: apricot")
    expect(page.locator("#saved")).to_have_text("Saved")
    left = [name for name, _ in consensus(app.project).values()]
    assert sorted(left) == ["a", "apple", *["apricot"] * 4]


def test_a_text_left_for_later_is_not_shown_again_before_the_server_knows(window: Window, app: Served) -> None:
    label_some(app, n=2)
    queue_split(app)
    page = window.open(app.link, at="/?check=all")
    page.route("**/api/codebook/rechecks/postpone", lambda route: route.abort())
    expect(page.locator("#text")).not_to_be_empty()
    first = page.locator("#text").inner_text()
    page.keyboard.press("s")
    expect(page.locator("#text")).not_to_have_text(first)
    second = page.locator("#text").inner_text()
    page.reload()
    expect(page.locator("#text")).to_have_text(second)


def test_a_class_gets_a_new_definition_and_a_group(
    window: Window, app: Served, shot: Callable[[Page, str], None]
) -> None:
    label_some(app)
    app.project.decide({"guidelines": "Read."})
    page = window.open(app.link, at="/codebook")
    page.get_by_role("button", name="New definition of a", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("3 labels of this class")).to_be_checked()
    dialog.get_by_label("What belongs here").fill("only red ones")
    dialog.get_by_role("button", name="Save the new definition").click()
    expect(page.locator("#queue-list")).to_contain_text("“a” has a new definition.")
    for name in ("a", "c"):
        page.get_by_label(f"Group of {name}", exact=True).fill("fruit")
        page.keyboard.press("Tab")
        expect(page.locator("#versions li").first).to_contain_text(f"“{name}” was put into the group “fruit”.")
    expect(page.locator("#versions li")).to_have_count(4)
    expect(page.locator("#versions bdi").first).to_have_text("me")  # so that no name reorders the line
    page.get_by_role("button", name="Agreement before and after: “a” has a new definition.").click()
    expect(page.locator("#versions")).to_contain_text("Agreement (α) before: not known; after: not known.")
    page.get_by_text("What was changed").first.click()
    expect(page.locator("#versions")).to_contain_text("only red ones")

    page.goto(app.address)
    expect(page.locator("#classes .group-name")).to_have_text(["fruit", "Other classes"])
    expect(page.locator("#classes bdi")).to_have_text(["fruit", "a", "fruit", "c", "fruit", "Other classes", "b"])
    expect(page.locator("#text")).not_to_be_empty()
    shot(page, "groups")
    expect(page.locator("#recheck-note")).to_be_visible()
    panel = page.locator("#side-panel")
    for height in (800, 650):
        page.set_viewport_size({"width": 1366, "height": height})
        expect(panel).to_be_visible()
        beside = boxes(page)
        shot(page, f"groups-beside-the-panel-{height}")
        for button in page.locator("#classes button").all():
            expect(button).to_be_in_viewport(ratio=1)
        page.keyboard.press("0")
        expect(panel).to_be_hidden()
        assert boxes(page) == beside, "the panel moves nothing"
        page.keyboard.press("0")
    page.evaluate("document.getElementById('recheck-note').hidden = true")
    assert boxes(page) == beside, "the note moves nothing"
    page.keyboard.press("2")
    expect(page.locator("#last")).to_have_text("Labelled “c”")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.goto(f"{app.address}/texts")
    page.get_by_role("combobox", name="Group").select_option("fruit")
    expect(page.locator("#found")).to_have_text("4 texts")


def test_a_search_finds_the_classes_of_a_group(window: Window, tmp_path: Path) -> None:
    names = [f"class {at}" for at in range(25)]
    with served(tmp_path / "p", classes=names) as app:
        with app.project.sessions.begin() as session:
            for at in (7, 13):
                classes.put_in_group(session, at, "fruit")
        page = window.open(app.link)
        expect(page.locator("#classes .group-name").first).to_be_visible()
        expect(page.locator("#text")).not_to_be_empty()
        page.keyboard.press("/")
        page.keyboard.type("fruit")
        expect(page.locator("#classes button:visible")).to_have_count(2)
        expect(page.locator("#classes button:visible").first).to_contain_text("fruit")
        page.keyboard.press("Enter")
        expect(page.locator("#last")).to_have_text("Labelled “class 6”")


def test_a_reviewer_reads_the_codebook_but_changes_nothing(window: Window, tmp_path: Path) -> None:
    with served(tmp_path / "p", sign_in_header="X-Remote-User") as app:
        with app.project.sessions.begin() as session:
            add_person(session, "rev", "reviewer")
            classes.put_in_group(session, 1, "fruit")
        page = window.open(f"{app.address}/review", extra_http_headers={"X-Remote-User": "rev"})
        page.get_by_role("link", name="codebook").click()
        expect(page.locator("#class-list li").first).to_contain_text("fruit")
        expect(page.get_by_role("button", name="Split a")).to_have_count(0)


def test_the_codebook_and_a_recheck_are_accessible(window: Window, app: Served, axe: Axe) -> None:
    label_some(app)
    queue_split(app)
    page = window.open(app.link, reduced_motion="reduce")
    for path in ("/codebook", "/?check=all"):
        go_and_settle(page, app.address + path)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert axe.faults(page) == [], (path, scheme)
    page.goto(f"{app.address}/codebook")
    for name in ("Split b", "New definition of b"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert axe.faults(page) == [], name
        page.get_by_role("button", name="Cancel").locator("visible=true").click()


def test_progress_has_the_quality_of_each_group(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        classes.put_in_group(session, 1, "fruit")
        owner = me(app.project)
        for row, id in session.execute(select(Text.row, Text.id).where(Text.split == "validation")).all():
            annotate(session, owner, id, "label", class_name="a", key=id)
            session.add(Prediction(text_row=row, class_number=1, probability=0.9, entropy=0.3, round=1))
    page = window.open(app.link, at="/progress")
    group = page.get_by_role("figure").filter(has=page.get_by_role("heading", name="Quality per group"))
    expect(group.get_by_role("row").nth(1)).to_contain_text("fruit")
