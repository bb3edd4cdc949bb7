"""The pages Texts and Review where a text may have several classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, update

from hybridal.annotators.llm.prompt import LlmLabel
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, LabelSet, Prediction, Text, Vote
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.llm.annotator import LlmSettings, save_settings
from hybridal.app.people import add_person

from ...helpers.chat_server import chat_server, says
from ..llm.projects import llm_of, recorded
from ..made_up import me
from .axe import Axe
from .served import Served, served
from .test_axe import checked
from .test_predictions import embed
from .window import Window

pytestmark = pytest.mark.browser

THRESHOLD = 0.4


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "p", multi_label=True, validation_first=0, validation_share=0.0, overlap=1.0) as opened:
        yield opened


def score(app: Served, probabilities: Mapping[str, list[float]]) -> None:
    """Give texts the probabilities of a model that gives a class from 0.4 on."""
    with app.project.sessions.begin() as session:
        session.execute(update(Class).values(threshold=THRESHOLD))
        rows = dict(session.execute(select(Text.id, Text.row)).all())
        for id, values in probabilities.items():
            given = ClassSet.of(number for number, value in enumerate(values, 1) if value >= THRESHOLD)
            found = {"class_number": int(np.argmax(values)) + 1, "label_set": store_sets(session, [given])[given]}
            session.add(Prediction(text_row=rows[id], **found, probability=max(values), entropy=0.3, round=1))
    app.project.probabilities.begin({"classes": [1, 2, 3]}, 3)
    at = [rows[id] for id in probabilities]
    app.project.probabilities.write(at, np.array([*probabilities.values()]), [2] * len(at))


def items(page: Page) -> list[str]:
    return [text.inner_text() for text in page.locator(".item .written").all()]


def test_texts_are_listed_and_decided_by_one_class(window: Window, app: Served, axe: Axe) -> None:
    score(app, {"t1": [0.9, 0.1, 0.1], "t2": [0.7, 0.5, 0.1], "t3": [0.35, 0.1, 0.1], "t4": [0.01, 0.8, 0.1]})
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t2", "label", decisions={"b": True}, key="1")
    page = window.open(app.link, at="/texts?predicted=a&order=sure")
    expect(page.locator("#found")).to_have_text("2 texts")
    assert items(page) == ["text 1", "text 2"]
    expect(page.locator(".item").first).to_contain_text("no labelmodel:a90%")
    page.get_by_label("Order").select_option("doubt")
    expect(page.locator(".item").first).to_contain_text("text 3")
    assert items(page) == ["text 3", "text 2", "text 1", "text 4"]
    expect(page.locator(".item").first).to_contain_text("model: nota35%")
    page.get_by_label("Order").select_option("sure")
    expect(page.locator("#found")).to_have_text("2 texts")
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="They have it").click()
    expect(page.locator("#toasts")).to_contain_text("2 texts labelled.")
    expect(page.locator(".item").last).to_contain_text("ab")  # the decision on b stays
    assert checked(page, axe, "texts") == []
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.locator("#toasts")).to_contain_text("2 labels undone.")


def test_texts_are_listed_by_the_classes_that_they_lack(window: Window, app: Served, axe: Axe) -> None:
    with app.project.sessions.begin() as session:
        owner = me(app.project)
        for id, label in {"t1": ["a", "b"], "t2": [], "t3": ["c"]}.items():
            annotate(session, owner, id, "label", class_names=label, key=id)
        annotate(session, me(app.project), "t4", "label", decisions={"b": False}, key="t4")
    page = window.open(app.link, at="/texts")
    page.get_by_label("Lacks class").select_option("b")
    expect(page.locator("#found")).to_have_text("3 texts")
    assert items(page) == ["text 4", "text 3", "text 2"]
    page.get_by_label("Has class").select_option("c")
    expect(page.locator("#found")).to_have_text("1 text")
    assert items(page) == ["text 3"]
    assert checked(page, axe, "texts without a class") == []
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete this text").click()
    expect(page.locator("#toasts")).to_contain_text("1 text deleted")
    page.goto(f"{app.address}/texts?state=none&lacks=b")
    expect(page.locator("#found")).to_have_text("1 text")
    assert items(page) == ["text 2"]


def test_texts_like_one_are_decided_by_one_class(window: Window, app: Served) -> None:
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t1", "label", class_names=["a", "b"], key="1")
        annotate(session, me(app.project), "t2", "label", decisions={"b": True}, key="2")
    embed(app.project, {"t1": (1, 0), "t2": (1, 0.1), "t3": (1, 0.2), "t4": (0, 1)})
    page = window.open(app.link, at="/texts?class=a")
    page.locator(".item").get_by_role("button", name="More like this").click()
    expect(page.locator("#found")).to_have_text("2 texts")  # t2 has a label
    page.get_by_label("State").select_option("")
    expect(page.locator("#found")).to_have_text("3 texts")
    assert items(page) == ["text 2", "text 3", "text 4"]
    for text in ("text 2", "text 3"):
        page.get_by_label(f"Select “{text}”").check()
    page.get_by_label("Decide a class for the selected texts").select_option("a")
    page.get_by_role("button", name="They have it").click()
    expect(page.locator("#toasts")).to_contain_text("2 texts labelled.")
    expect(page.locator(".item").first).to_contain_text("ab")
    assert items(page) == ["text 2", "text 3", "text 4"]
    page.get_by_label("Has class").select_option("a")
    expect(page.locator("#found")).to_have_text("2 texts")
    assert items(page) == ["text 2", "text 3"]


def test_texts_most_likely_of_one_class_come_first(window: Window, app: Served) -> None:
    score(app, {f"t{at}": [0.9, at / 50, 0.1] for at in range(20)})  # a is likelier than b everywhere
    page = window.open(app.link)
    choice, text = page.get_by_label("What to label next"), page.locator("#text")
    expect(text).to_contain_text("text")
    choice.select_option("Most likely: b")
    seen = []
    for _ in range(5):
        expect(page.get_by_role("button", name="Skip")).to_be_enabled()
        seen.append(text.inner_text())
        page.wait_for_timeout(300)
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        expect(text).not_to_have_text(seen[-1])
    hunted = [one for one in seen if int(one.removeprefix("text ")) > 14]
    assert len(hunted) >= 4, "at most the text that was open comes first"
    assert hunted == sorted(hunted, reverse=True)
    with app.project.reads() as session:
        sets = [*session.scalars(select(LabelSet.classes).join(Vote, Vote.label_set == LabelSet.number))]
    assert [one.present for one in sets] == [frozenset([2])] * len(sets)
    assert len(sets) >= 4


def test_predicted_sets_are_confirmed(window: Window, app: Served) -> None:
    score(app, {"t1": [0.9, 0.1, 0.6], "t2": [0.1, 0.1, 0.1]})
    page = window.open(app.link, at="/texts")
    for number in (1, 2, 3):
        page.get_by_label(f"Select “text {number}”").check()
    page.get_by_role("button", name="Confirm predictions").click()
    expect(page.locator("#toasts")).to_contain_text("2 texts labelled.")
    page.get_by_label("State").select_option("labelled")
    expect(page.locator("#found")).to_have_text("2 texts")
    expect(page.locator(".item", has_text="text 1").locator(".badge")).to_have_text(["a", "c"])
    expect(page.locator(".item", has_text="text 2").locator(".badge")).to_have_text(["none of these"])


def test_an_opened_text_shows_and_changes_its_set(window: Window, app: Served, axe: Axe) -> None:
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t1", "label", class_names=["a", "b"], key="1")
    page = window.open(app.link, at="/texts?state=labelled")
    page.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("checkbox", name="b")).to_be_checked()
    assert checked(page, axe, "a text with several classes") == []
    dialog.get_by_role("checkbox", name="b").uncheck()
    dialog.get_by_role("checkbox", name="c").check()
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".item .badge")).to_have_text(["a", "c"])
    page.get_by_role("button", name="Open").click()
    expect(dialog.locator(".history li").first).to_contain_text("chose ac")
    expect(dialog.locator(".history li").last).to_contain_text("chose ab")


def test_one_class_of_a_label_is_reviewed(
    window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    score(app, {"t1": [0.05, 0.9, 0.97], "t2": [0.9, 0.1, 0.1]})
    with app.project.sessions.begin() as session:
        annotate(session, me(app.project), "t1", "label", class_names=["a", "b"], key="1")
        annotate(session, me(app.project), "t2", "label", class_names=["a"], key="2")
    page = window.open(app.link, at="/review")
    rows = page.locator(".item")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("abmodel:c97%, given from 40%")
    assert checked(page, axe, "decisions") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    shot(page, "several-review")
    page.get_by_label("Only decisions on a class").select_option("a")
    expect(rows).to_have_count(1)
    page.wait_for_timeout(300)
    page.keyboard.press(".")
    expect(rows).to_have_count(0)
    page.get_by_label("Only decisions on a class").select_option("")
    expect(rows).to_have_count(1)
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Keep: It does not have c").click()
    expect(page.locator("#items")).to_contain_text("The model clearly contradicts no decision")
    page.goto(f"{app.address}/texts?state=labelled&search=text 1")
    expect(page.locator(".item .badge").first).to_have_text("bdecided")


def test_contested_classes_are_decided(
    window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]
) -> None:
    with app.project.sessions.begin() as session:
        ada, bo = (add_person(session, name, "annotator") for name in ("Ada", "Bo"))
        annotate(session, ada, "t1", "label", class_names=["a", "b"], key="1")
        annotate(session, bo, "t1", "label", class_names=["a", "c"], key="2", comment="c, surely")
        for number in range(2, 7):  # and agree on these
            for person in (ada, bo):
                given = ["b"] if number % 2 else ["a"]
                annotate(session, person, f"t{number}", "label", class_names=given, key=f"{number}{person.name}")
    page = window.open(app.link, at="/review#disagreements")
    row = page.locator(".item")
    expect(row).to_contain_text("All agree on")
    expect(row.get_by_role("group", name="b", exact=True)).to_contain_text("Yes AdaNo Bo")
    assert checked(page, axe, "contested") == []
    page.set_viewport_size({"width": 360, "height": 740})
    shot(page, "several-contested-phone-dark")
    page.get_by_text("Agreement on each class").click()
    rows = page.get_by_role("region", name="Agreement on each class").get_by_role("row")
    expect(rows.nth(1)).to_have_text("a1.00–68")
    expect(rows.nth(2)).to_contain_text(" to ")
    shot(page, "several-agreement-phone-dark")
    row.get_by_role("button", name="Yes Ada").click()
    expect(row.get_by_role("button", name="Decide")).to_be_disabled()
    row.get_by_role("button", name="No Ada").click()
    row.get_by_role("button", name="Decide").click()
    expect(page.locator("#items")).to_contain_text("There are no disagreements.")
    page.goto(f"{app.address}/texts?state=labelled")
    expect(page.locator(".item").first.locator(".badge")).to_have_text(["a", "bdecided"])


def test_a_column_per_class_is_chosen(window: Window, app: Served, axe: Axe, shot: Callable[[Page, str], None]) -> None:
    page = window.open(app.link, at="/settings")
    expect(page.locator("#plan")).to_be_visible()
    file = b"text,note,a,new,b\nfirst,x,1,1,0\nsecond,y,0,0,0\nthird,z,,,\n"
    page.locator("#upload input[type=file]").set_input_files({"name": "x.csv", "mimeType": "text/csv", "buffer": file})
    expect(page.locator("#preview-facts")).to_have_text("3 rows.")
    columns = page.get_by_label("Columns of labels")
    expect(columns).to_have_values([])
    columns.select_option(["a", "b", "new"])
    expect(page.locator("#preview-facts")).to_have_text("3 rows. 2 with a label. New class: new.")
    expect(columns).to_have_values(["a", "new", "b"])
    expect(page.locator("#first-rows th")).to_have_text(["text", "a", "new", "b", "note"])
    assert checked(page, axe, "columns") == []
    page.set_viewport_size({"width": 1280, "height": 800})
    columns.scroll_into_view_if_needed()
    shot(page, "several-columns")
    page.get_by_role("button", name="Add these texts").click()
    expect(page.locator("#upload-status")).to_contain_text("3 texts added")
    page.goto(f"{app.address}/texts?state=labelled")
    expect(page.locator("#found")).to_have_text("2 texts")
    badges = page.locator(".item", has_text="first").locator(".badge")
    expect(badges).to_have_text(["a", "newfrom the file"])
    expect(page.locator(".item", has_text="second")).to_contain_text("none of these")


def test_the_language_model_is_shown_with_its_classes(window: Window, app: Served, axe: Axe) -> None:
    with app.project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        recorded(session, llm, "t1", LlmLabel(frozenset(["a", "b"]), 0.9))
        annotate(session, me(app.project), "t1", "label", decisions={"a": True, "b": False}, key="1")
        save_settings(session, LlmSettings.model_validate({"model": "small", "routing": {"overlap": 1.0}}))
    given = [json.dumps({"reason": "so", "classes": names, "confidence": 0.8}) for names in (["c", "a"], [])]
    with chat_server(lambda body: says(given["text 2" in body["messages"][1]["content"]])) as server:
        page = window.open(app.link, at="/people")
        page.get_by_text("The language model on each class").click()
        rows = page.get_by_role("region", name="The language model on each class").get_by_role("row")
        expect(rows.nth(1).get_by_role("cell")).to_have_text(["a", "1", "100%", "–", "1", "1", "1"])
        expect(rows.nth(2).get_by_role("cell")).to_have_text(["b", "1", "0%", "0.00", "1", "0", "0"])
        assert checked(page, axe, "the language model") == []
        page.get_by_label("Address of the server").fill(server.url)
        page.locator("#llm").get_by_role("button", name="Save").click()
        expect(page.locator("#toasts")).to_contain_text("Saved")
        page.get_by_role("button", name="Try it on five texts").click()
        expect(page.locator(".trial > li", has_text="a, c (80%)")).to_have_count(4)
        expect(page.locator(".trial > li", has_text="none of these (80%)")).to_have_count(1)


def test_the_owner_sets_what_people_agree_on(window: Window, app: Served, axe: Axe) -> None:
    page = window.open(app.link, at="/settings")
    expect(page.locator("#plan")).to_be_visible()
    page.get_by_label("They agree on").select_option("class")
    page.get_by_label("Choose the suggested or shown predicted classes already").check()
    page.locator("#plan").get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved.")
    settings = app.project.settings()
    assert (settings["consensus_per"], settings["preselect"]) == ("class", True)
    page.locator("#upload input[type=file]").set_input_files(
        {"name": "x.csv", "mimeType": "text/csv", "buffer": b"text,tags\none,a; new\ntwo,a\nthree,\n"}
    )
    page.get_by_label("Between several classes").fill(";")
    page.get_by_label("Between several classes").press("Tab")
    expect(page.locator("#preview-facts")).to_have_text("3 rows. 2 with a label. New class: new.")
    assert checked(page, axe, "settings") == []
    page.goto(f"{app.address}/export")
    expect(page.get_by_role("region", name="Labels")).to_contain_text("Classes are lists")
