from __future__ import annotations

from hybridal.learners.batch import Batch, Query


def test_a_frame_has_a_row_a_text_and_a_column_a_class() -> None:
    frame = Batch((Query(7, "so so", 0.69, {"bad": 0.5, "good": 0.5}), Query(3, "fine"))).to_pandas()
    assert [*frame.columns] == ["text", "score", "p(bad)", "p(good)"]
    assert [*frame.index] == [7, 3]


def test_with_several_labels_the_set_is_shown_before_the_probabilities() -> None:
    believed = {"bad": 0.6, "good": 0.7, "<new>": 0.1}
    batch = Batch(
        (Query(7, "so so", 0.69, believed, frozenset(["good", "bad"])), Query(3, "x", 0.1, believed, frozenset()))
    )
    frame = batch.to_pandas()
    assert [*frame.columns] == ["text", "score", "labels", "p(bad)", "p(good)", "p(<new>)"]
    assert frame["labels"].tolist() == [["bad", "good"], []]
    assert batch._repr_html_().endswith("<p>Each class has a probability of its own; they do not sum to 1.</p>")
    assert "sum to 1" not in Batch((Query(3, "x", 0.1, believed),))._repr_html_()


def test_the_frame_of_nothing_has_its_columns_too() -> None:
    frame = Batch(()).to_pandas()
    assert ([*frame.columns], frame.index.name, len(frame)) == (["text", "score"], "id", 0)


def test_a_part_is_a_batch_again() -> None:
    whole = Batch((Query(7, "so so"), Query(3, "fine"), Query(1, "bad")))
    assert whole[1:].ids == [3, 1]
    assert whole[0].text == "so so"


def test_batch_repr_is_short() -> None:
    batch = Batch(tuple(Query(n, f"text {n} " + "x" * 60) for n in range(9)), note="<few> are left")
    assert repr(batch[:1]) == f"Batch(1 text: 'text 0 {'x' * 33}…')"
    assert repr(batch).endswith("…', …; <few> are left)")
    assert len(repr(batch)) < 200
    assert "<p>&lt;few&gt; are left</p>" in batch._repr_html_()
    assert repr(Batch(())) == "Batch(0 texts)"
    assert repr(Batch((Query(7, ""), Query("b", "")))) == "Batch(2 texts: 7, 'b')"
