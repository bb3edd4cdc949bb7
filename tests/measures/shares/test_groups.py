from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from hybridal.errors import UserError
from hybridal.measures.shares.groups import PERIODS, By, group_by, period_name, period_number


def test_values_are_groups_in_their_order() -> None:
    groups = group_by(["10", "9", None, " ", "b", "10", float("nan"), "a"], By("kind"))
    assert groups.names == ("9", "10", "a", "b")
    assert groups.of.tolist() == [1, 0, -1, -1, 3, 1, -1, 2]
    assert groups.without == 3
    assert groups.rows(1).tolist() == [True, False, False, False, False, True, False, False]


def test_equal_values_of_several_types_are_one_group() -> None:
    assert group_by([3, 3.0, "3", True, "true"], By("kind")).of.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("unit", PERIODS)
def test_periods_are_those_of_pandas(unit: str) -> None:
    days = pd.date_range("2023-11-20", "2025-02-03", freq="D")
    frequency = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D"}[unit]
    expected = days.to_period(frequency)
    numbers = [period_number(day.date(), unit) for day in days]
    assert np.diff(numbers).tolist() == np.diff(expected.astype("int64")).tolist()
    names = [period_name(day.date(), unit) for day in days]
    assert names == sorted(names)
    assert len(set(names)) == expected.nunique()


@pytest.mark.parametrize(
    "written",
    ["2024-03-09", "2024-03-09T10:11:12Z", "2024-03-09 23:59", "2024/3/9", "20240309", "9.3.2024", "09.03.2024 10:00"],
)
def test_dates_are_read_in_common_forms(written: str) -> None:
    assert group_by([written, "2024-03-10"], By("sent", "day")).names == ("2024-03-09", "2024-03-10")


def test_dates_may_be_objects() -> None:
    values = [
        date(2024, 1, 5),
        datetime(2024, 2, 5, 10),
        np.datetime64("2024-04-01"),
        pd.Timestamp("2024-02-01"),
        pd.NaT,
    ]
    groups = group_by(values, By("sent", "month"))
    assert groups.names == ("2024-01", "2024-02", "2024-04")
    assert groups.along is not None
    assert groups.along[:4].tolist() == [0, 1, 3, 1]
    assert groups.without == 1


def test_a_number_has_no_groups() -> None:
    groups = group_by(["1.5", 2, None], By("price", "number"))
    assert groups.names == ()
    assert groups.along is not None
    assert groups.along[:2].tolist() == [1.5, 2.0]
    assert groups.without == 1


@pytest.mark.parametrize(
    ("values", "by", "message"),
    [
        (["soon", "2024-01-01"], By("sent", "month"), "'soon' in the column 'sent' is no date"),
        (["2024-02-31", "2024-01-01"], By("sent", "month"), "is no date"),
        (["2024-02", "2024-01"], By("sent", "week"), "is no date"),
        (["1", "x"], By("price", "number"), "'x' in the column 'price' is no number"),
        (["1", "1"], By("price", "number"), "one value only"),
        (["a", "a", ""], By("kind"), "are in one group, a"),
        (["", None], By("kind"), "is empty"),
        ([*map(str, range(500))], By("price"), "500 groups.* use number:price"),
        ([f"{2000 + n // 12}-{n % 12 + 1:02}-01" for n in range(240)], By("sent", "day"), "take longer periods"),
    ],
)
def test_what_cannot_be_divided_is_refused(values: list[str], by: By, message: str) -> None:
    with pytest.raises(UserError, match=message):
        group_by(values, by)


def test_a_colon_in_a_name_is_no_period() -> None:
    assert By.of("meta:kind") == By("meta:kind")
    assert By.of("month:") == By("month:")
