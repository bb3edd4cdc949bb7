from __future__ import annotations

import numpy as np
import pytest

from hybridal.errors import UserError
from hybridal.measures.shares.estimators import estimate, share_of, slope_on
from hybridal.measures.shares.groups import By, Groups, group_by
from hybridal.measures.shares.labelled_texts import LabelledTexts
from hybridal.measures.shares.share_differences import difference
from hybridal.measures.shares.share_methods import methods
from hybridal.measures.shares.share_sentences import (
    gain_sentence,
    missing_sentences,
    plan_sentence,
    points,
    sentence,
)
from hybridal.measures.shares.share_table import FEWEST, Basis, Interval, Line, ShareTable, share_table

from .populations import labelled, population, with_other_class

SIZE, DRAWN = 1200, 240
RNG = np.random.default_rng(1)
BRANCHES = RNG.choice(["north", "south", "west"], SIZE, p=[0.5, 0.4, 0.1]).tolist()
DAYS = [f"2024-{month:02}-0{month % 9 + 1}" for month in RNG.integers(1, 5, SIZE)]
PRICES = RNG.exponential(size=SIZE).tolist()


def made(drawn: int = DRAWN) -> LabelledTexts:
    labels, predicted = population(SIZE, 0.3, 1.5, 0)
    return with_other_class(labelled(labels, predicted, np.random.default_rng(2).permutation(SIZE)[:drawn]))


def table(groups: Groups | None = None, drawn: int = DRAWN, asked: list[str] | None = None) -> ShareTable:
    return share_table(made(drawn), ["late", "other"], Basis(SIZE, drawn, 1, others=7), groups, asked)


def ends(interval: Interval | None) -> tuple[float, float, float]:
    assert interval is not None
    return interval.value, interval.low, interval.high


def test_a_share_is_estimated_with_and_without_the_model() -> None:
    texts, line = made(), table().of("share", "", "other")[0]
    everything = share_of(np.ones(SIZE, dtype=bool))
    for found, powered in ((line.estimate, True), (line.alone, False)):
        expected = estimate(texts, everything, powered=powered)
        assert ends(found) == pytest.approx((expected.value[1], expected.low[1], expected.high[1]))
    assert line.count == pytest.approx(texts.answers[:, 1].mean())
    assert (line.texts, line.labels) == (SIZE, DRAWN)


def test_groups_are_compared_with_all_other_texts() -> None:
    found = table(group_by(BRANCHES, By("branch")))
    assert found.groups == ("north", "south", "west")
    assert [line.group for line in found.of("share", name="late")] == ["", "north", "south", "west"]
    inside = np.array(BRANCHES) == "south"
    expected = difference(*(estimate(made(), share_of(rows)) for rows in (inside, ~inside)))
    line = found.of("difference", "south", "late")[0]
    assert ends(line.estimate) == pytest.approx((expected.value[0], expected.low[0], expected.high[0]))
    assert line.other == ""
    assert not found.of("trend")


def test_two_groups_are_compared_with_each_other() -> None:
    found = table(group_by(["a", "b"] * (SIZE // 2), By("branch")))
    assert [(line.group, line.other) for line in found.of("difference", name="late")] == [("a", "b")]


def test_over_time_there_is_a_trend_and_the_last_period_is_compared_with_the_first() -> None:
    groups = group_by(DAYS, By("sent", "month"))
    found = table(groups)
    assert found.groups == ("2024-01", "2024-02", "2024-03", "2024-04")
    assert [(line.group, line.other) for line in found.of("difference", name="late")] == [("2024-04", "2024-01")]
    assert groups.along is not None
    expected = estimate(made(), slope_on(groups.along))
    line = found.of("trend", name="late")[0]
    assert ends(line.estimate) == pytest.approx((expected.value[0], expected.low[0], expected.high[0]))


def test_along_a_number_there_are_no_groups() -> None:
    found = table(group_by(PRICES, By("price", "number")))
    assert [line.kind for line in found.lines] == ["share", "share", "trend", "trend"]


def test_only_the_classes_that_are_asked_for() -> None:
    found = table(asked=["other"])
    assert found.classes == ("other",)
    (line,) = found.lines
    assert ends(line.estimate) == pytest.approx(ends(table().of("share", "", "other")[0].estimate))
    with pytest.raises(UserError, match="no class 'late fee'; name one of late, other"):
        table(asked=["late fee"])


def test_too_few_random_labels_are_refused() -> None:
    with pytest.raises(UserError, match="There are 9 random labels, and an estimate takes at least 10"):
        table(drawn=9)
    with pytest.raises(UserError, match="There is no random label"):
        table(drawn=0)


def test_a_group_with_too_few_says_how_many_it_takes() -> None:
    found = table(group_by(BRANCHES, By("branch")), drawn=50)
    line = found.of("share", "west", "late")[0]
    assert line.labels < FEWEST
    assert line.estimate is line.alone is None
    assert line.needed == -(-(FEWEST - line.labels) * SIZE // line.texts)
    assert found.of("difference", "west")[0].estimate is None
    (text,) = missing_sentences(found)
    assert text == (
        f"west: {line.labels} random labels are too few for an estimate, which takes 10; about {line.needed} more "
        "texts drawn at random bring them."
    )


def test_many_groups_with_too_few_are_named_together() -> None:
    groups = group_by([str(number % 20) + "x" for number in range(SIZE)], By("kind"))
    (text,) = missing_sentences(table(groups, drawn=40))
    assert text.startswith("20 groups have fewer than 10 random labels")


def test_every_sentence_names_its_confidence() -> None:
    tables = [table(group_by(values, By.of(spec))) for spec, values in COLUMNS.items()]
    sentences = [text for one in tables for text in [gain_sentence(one), plan_sentence(one, 0.01), methods(one)]]
    sentences += [sentence(line, one) for one in tables for line in one.lines]
    assert len(sentences) > 20
    assert [text for text in sentences if "95%" not in text] == []


COLUMNS = {"branch": BRANCHES, "month:sent": DAYS, "number:price": PRICES}


def test_sentences() -> None:
    found = Interval(0.3, 0.25, 0.354)
    basis = Basis(900, 90, 1)

    def shown(line: Line, by: str = "") -> str:
        return sentence(line, ShareTable((), ("late",), 0.9, basis, by))

    assert shown(Line("share", "north", "", "late", 9, 9, 0.2, found, found)) == (
        "north: late in 30.0% of the texts, 25.0% to 35.4% with 90% confidence; the model alone counts 20.0%."
    )
    assert shown(Line("difference", "b", "a", "late", 9, 9, 0.2, found, found)) == (
        "late: +30.0 points in b compared with a, +25.0 to +35.4 with 90% confidence."
    )
    assert shown(Line("difference", "b", "", "late", 9, 9, 0.2, found, found)) == (
        "late: +30.0 points in b compared with all other texts, +25.0 to +35.4 with 90% confidence."
    )
    assert shown(Line("difference", "2024", "2023", "late", 9, 9, 0.2, found, found), "year:sent") == (
        "late: +30.0 points from 2023 to 2024, +25.0 to +35.4 with 90% confidence."
    )
    assert shown(Line("trend", "", "", "late", 9, 9, 0.2, found, found), "number:price") == (
        "late: +30.0 points per price, +25.0 to +35.4 with 90% confidence."
    )
    assert points(-0.25) == "−25.0"


def test_the_gain_of_the_model_in_labels() -> None:
    wide, narrow = Interval(0.3, 0.2, 0.4), Interval(0.3, 0.25, 0.35)
    line = Line("share", "", "", "late", 900, 90, 0.2, wide, narrow)
    assert gain_sentence(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1))) == (
        "With the model's predictions the 95% intervals are 0.50 times as wide as from random labels alone, as wide as "
        "about 360 random labels would make them."
    )
    useless = Line("share", "", "", "late", 900, 90, 0.2, narrow, narrow)
    assert "1.00 times as wide as from random labels alone: the model does not help" in gain_of(useless)
    little = Line("share", "", "", "late", 900, 90, 0.2, narrow, Interval(0.3, 0.2505, 0.3495))
    assert "0.99 times as wide as from random labels alone: the model helps little" in gain_of(little)
    worse = Line("share", "", "", "late", 900, 90, 0.2, narrow, Interval(0.3, 0.249, 0.351))
    assert "1.02 times as wide as from random labels alone: the model does not help" in gain_of(worse)


def gain_of(line: Line) -> str:
    return gain_sentence(ShareTable((line,), ("late",), 0.95, Basis(900, 90, 1)))


def test_the_plan_is_for_the_least_precise_class_of_each_group() -> None:
    found = table(group_by(BRANCHES, By("branch")))
    more = found.more_labels(0.06)
    assert 0 < more < SIZE - DRAWN
    assert f"in each of 3 groups with 95% confidence you need about {more} more random labels" in plan_sentence(
        found, 0.06
    )
    assert plan_sentence(found, 0.4) == "All shares are known to ±40 points or better with 95% confidence already."
    widest = max(line.estimate.half_width for line in found.of("share") if line.group and line.estimate)
    assert found.more_labels(widest + 1e-9) == 0 < found.more_labels(widest - 0.001)


def test_texts_without_a_value_are_drawn_too() -> None:
    some = [value if number % 4 else None for number, value in enumerate(BRANCHES)]
    found = table(group_by(some, By("branch")))
    assert found.without == SIZE // 4
    assert "300 texts have no value in the column branch" in methods(found)
    line = found.of("difference", "north", "late")[0]
    assert line.texts == SIZE - found.without


def test_the_methods_say_what_was_done() -> None:
    basis = Basis(900, 90, 2, unanswered=3, others=7, crossed=40, model="encoder tiny", uncovered=1, picked=2)
    paragraph = methods(ShareTable((), ("late", "other"), 0.95, basis, several=True))
    for part in (
        "The shares of 2 classes in 900 texts were estimated from 90 labels",
        "(2 draws)",
        "encoder tiny",
        "7 other labelled texts",
        "40 random labels that it had learnt were compared with predictions of classifiers fitted without them",
        "3 texts that were drawn have no label",
        "2 of the random labels were given out of turn",
        "1 text was added after the draws",
        "A text may belong to several classes",
    ):
        assert part in paragraph


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    groups = group_by(BRANCHES, By("branch"))
    report = seen.append
    share_table(made(), ["late", "other"], Basis(SIZE, DRAWN, 1), groups, progress=lambda *at: report(at))
    assert [of for _, of in seen] == [7] * len(seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (7, 7)
