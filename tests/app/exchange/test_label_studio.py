from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.exchange.label_studio import (
    ImportedAnnotation,
    ImportedTask,
    LabelConfig,
    choice_json,
    person_of,
    prediction_json,
    read_config,
    read_tasks,
)
from hybridal.errors import UserError
from hybridal.tasks.answers import Decisions


def test_the_names_of_a_configuration_are_read() -> None:
    xml = """<View><Header value="Read"/><Text name="article" value="$content"/>
      <View><Choices name="topic" toName="article" choice="single"><Choice value="a"/></Choices></View>
      <Choices name="later" toName="article"/></View><!-- a comment -->"""
    assert read_config(xml) == LabelConfig("topic", "article", "content")


@pytest.mark.parametrize(
    "xml",
    [
        None,
        3,
        "",
        "not xml",
        "<View>",
        '<View><Image name="i" value="$u"/><Choices name="c" toName="i"/></View>',
        '<View><Text name="t" value="fixed"/><Choices name="c" toName="t"/></View>',
        '<!DOCTYPE x [<!ENTITY a "aa">]><View><Text name="t" value="$x"/><Choices name="c" toName="t"/></View>',
        "<View>" + " " * 300_000 + "</View>",
    ],
)
def test_any_other_configuration_is_none(xml: Any) -> None:
    assert read_config(xml) is None


def test_a_choice_and_a_prediction_have_the_shape_that_label_studio_reads() -> None:
    config = LabelConfig("c", "t", "body")
    region = {"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": ["bug"]}}
    assert choice_json("bug", config) == region
    assert choice_json("bug", config, "why")["meta"] == {"text": ["why"]}
    assert prediction_json("bug", 0.5, "round 3", config) == {
        "model_version": "round 3",
        "score": 0.5,
        "result": [region],
    }


def chose(*names: str, by: str = "label", **more: Any) -> dict[str, Any]:
    return {"from_name": by, "to_name": "text", "type": "choices", "value": {"choices": [*names]}, **more}


def task(*annotations: Any, **more: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": "hello"}, "annotations": [*annotations], **more}


def test_an_export_is_read() -> None:
    done = {"id": 5, "result": [chose("bug")], "completed_by": 3, "updated_at": "2024-01-02", "ground_truth": False}
    [found] = read_tasks([task(done)])
    assert found == ImportedTask(
        "7", "hello", (ImportedAnnotation("5", "Label Studio 3", "bug", updated="2024-01-02"),)
    )


@pytest.mark.parametrize(
    "annotation",
    [
        {"result": [], "was_cancelled": True},
        {"result": [chose("bug")], "was_cancelled": True},
        {"skipped": True},
    ],
)
def test_a_cancelled_annotation_is_a_skip(annotation: Any) -> None:
    [found] = read_tasks([task(annotation)])
    assert [one.label for one in found.annotations] == [None]


@pytest.mark.parametrize("annotation", [{}, {"result": []}, {"result": None}, {"result": [chose()]}])
def test_empty_annotation_is_ignored(annotation: Any) -> None:
    assert read_tasks([task(annotation)])[0].annotations == ()


def test_old_exports_call_annotations_completions() -> None:
    old = {"id": 1, "data": {"text": "x"}, "completions": [{"result": [chose("bug")]}]}
    assert read_tasks([old])[0].annotations[0].label == "bug"


def test_an_object_with_tasks_is_as_good_as_a_list() -> None:
    assert len(read_tasks({"tasks": [task(), task()]})) == 2
    assert read_tasks([]) == []


@pytest.mark.parametrize(
    ("data", "field", "text"),
    [
        ({"text": "a", "title": "b"}, None, "a"),
        ({"text": "a", "title": "b"}, "title", "b"),
        ({"body": "a", "n": 3}, None, "a"),
    ],
)
def test_the_text_is_found_in_the_data(data: dict[str, Any], field: str | None, text: str) -> None:
    assert read_tasks([{"id": 1, "data": data}], field)[0].text == text


def test_our_own_id_counts_more_than_that_of_label_studio() -> None:
    assert read_tasks([{"id": 1, "data": {"text": "a", "hybridal_id": "x-9"}}])[0].id == "x-9"
    assert read_tasks([{"data": {"text": "a"}}])[0].id == ""


def test_regions_that_choose_nothing_are_overlooked() -> None:
    other = {"from_name": "spans", "type": "labels", "value": {"start": 0, "labels": ["X"]}}
    [found] = read_tasks([task({"result": [other, chose("bug"), {"type": "relation"}, None, 3]})])
    assert found.annotations[0].label == "bug"


def test_one_of_several_controls_must_be_named() -> None:
    both = task({"result": [chose("good", by="mood"), chose("bug", by="topic")]})
    assert read_tasks([both], choices="topic")[0].annotations[0].label == "bug"
    with pytest.raises(UserError, match="Task 7 has choices of mood and topic"):
        read_tasks([both])


def test_comments_and_ground_truth_are_kept() -> None:
    [found] = read_tasks([task({"result": [chose("bug", meta={"text": ["why", "so"]})], "ground_truth": True})])
    assert (found.annotations[0].comment, found.annotations[0].decides) == ("why\nso", True)


@pytest.mark.parametrize(
    ("meta", "flagged"), [({"flagged": True}, True), ({}, False), (None, False), ("flagged", False)]
)
def test_a_flag_of_ours_is_read(meta: Any, flagged: bool) -> None:
    assert read_tasks([task({"result": [chose("bug", meta=meta)]})])[0].annotations[0].flagged is flagged


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"a": 1}, "not a Label Studio export"),
        ("text", "not a Label Studio export"),
        ([3], "Task 1 has no data"),
        ([{"id": 9, "text": "x", "label": "bug"}], "Task 9 has no data.*JSON-MIN"),
        ([task(), {"id": 8, "data": {"text": " "}}], "Task 8 has no text in its field 'text'"),
        ([{"id": 8, "data": {"text": ["x"]}}], "Task 8 has no text"),
        ([{"id": 8, "data": {"text": "x" * 100_001}}], "Task 8 has a text of 100001 characters"),
        ([{"id": 8, "data": {"a": "x", "b": "y"}}], "Task 8 has no field 'text'.*a, b"),
        ([task({"result": [chose("a", "b")]})], "Task 7 has 2 different choices"),
        ([task({"result": [chose(" ")]})], "Task 7 has a choice that cannot be"),
        ([task({"result": [chose("x" * 201)]})], "Task 7 has a choice that cannot be"),
        ([task("x")], "Task 7 has an annotation that is not an object"),
        ([task({"result": 5})], "Task 7 has an annotation whose result is not a list"),
        ([task(annotations={"x": 1})], "Task 7 has annotations that are not a list"),
    ],
)
def test_errors_name_the_task(data: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        read_tasks(data)


@pytest.mark.parametrize(
    ("completed_by", "name"),
    [
        ({"id": 1, "email": "a@b.org", "first_name": "Ann"}, "a@b.org"),
        ({"id": 1, "email": "", "first_name": "Ann", "last_name": "Lee"}, "Ann Lee"),
        ({"id": 1}, "Label Studio 1"),
        ({}, "Label Studio"),
        (12, "Label Studio 12"),
        (None, "Label Studio"),
    ],
)
def test_people_have_names(completed_by: Any, name: str) -> None:
    assert person_of(completed_by) == name


def test_halves_of_characters_become_question_marks() -> None:
    half = "\ud800"
    done = {
        "id": half,
        "result": [chose(half, meta={"text": [half]})],
        "completed_by": {"email": half},
        "updated_at": half,
    }
    [found] = read_tasks([{"id": half, "data": {"text": half}, "annotations": [done]}])
    assert found == ImportedTask("?", "?", (ImportedAnnotation("?", "?", "?", "?", False, "?"),))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "data", "text", "annotations", "result", "value", "choices", "meta", "completed_by"]
            ),
            inner,
        )
    ),
    max_leaves=30,
)


@given(JSON)
def test_any_json_is_read_or_refused_in_a_sentence(data: Any) -> None:
    with suppress(UserError):
        read_tasks(data)


SPANS = {"from_name": "spans", "type": "labels", "value": {"start": 0, "labels": ["X"]}}


@pytest.mark.parametrize(
    ("result", "label"),
    [
        ([chose("b", "a")], frozenset("ab")),
        ([chose("a"), chose("b"), chose("a")], frozenset("ab")),
        ([], frozenset()),
        ([chose()], frozenset()),
        ([SPANS, chose("a")], frozenset("a")),
        ([chose("a", meta={"decisions": {"a": True, "b": False}})], Decisions.of({"a": True, "b": False})),
        ([chose(meta={"decisions": {"b": False}})], Decisions.of({"b": False})),
        # The choices were changed in Label Studio, or the decisions are not ours.
        ([chose("a", "b", meta={"decisions": {"a": True}})], frozenset("ab")),
        ([chose("a", meta={"decisions": {"a": "yes"}})], frozenset("a")),
        ([chose("a", meta={"decisions": {}})], frozenset("a")),
    ],
)
def test_several_choices_are_a_set(result: list[Any], label: object) -> None:
    [found] = read_tasks([task({"result": result})], several=True)
    assert [one.label for one in found.annotations] == [label]


def test_a_skip_has_no_set_and_another_control_says_nothing_of_it() -> None:
    [found] = read_tasks([task({"result": [], "was_cancelled": True})], several=True)
    assert [one.label for one in found.annotations] == [None]
    [found] = read_tasks([task({"result": [SPANS]})], several=True)
    assert found.annotations == ()
    [found] = read_tasks([task({"result": [SPANS]})], choices="topic", several=True)
    assert [one.label for one in found.annotations] == [frozenset()]
