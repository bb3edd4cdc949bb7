"""Cells from numbers: shortened for the eye, exact behind it, the good ones standing out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from hybridal.evidence.formats import NONE
from hybridal.evidence.tables.table import MISSING, Entry, Row, Value

Shown = Callable[[float], str]


def fixed(digits: int) -> Shown:
    """So many digits after the point.

    >>> fixed(3)(0.81949), fixed(0)(1509.4)
    ('0.819', '1,509')
    """
    return lambda value: f"{value:,.{digits}f}".replace("-", "−")


def percent(digits: int = 0) -> Shown:
    """A share in percent.

    >>> percent()(0.93), percent(1)(-0.166)
    ('93%', '−16.6%')
    """
    return lambda value: f"{100 * value:.{digits}f}%".replace("-", "−")


def signed(digits: int) -> Shown:
    """A difference, with its sign.

    >>> signed(4)(0.0005), signed(4)(-0.0045)
    ('+0.0005', '−0.0045')
    """
    return lambda value: f"{value:+.{digits}f}".replace("-", "−")


def seconds(value: float, beside: float | None = None) -> str:
    """Seconds, as finely as suits them or the number that they stand beside.

    >>> seconds(1375.2), seconds(12.34), seconds(0.0421), seconds(3.21, beside=1375.2)
    ('1,375', '12.3', '0.042', '3')
    """
    size = abs(value if beside is None else beside)
    return fixed(0 if size >= 100 else 1 if size >= 1 else 3)(value)


def p_value(value: float) -> str:
    """A level of significance.

    >>> p_value(0.0312), p_value(0.00001)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


def rate(numbers: Sequence[float], *more: Value) -> Entry:
    """The share of ones among ones and zeros, whose spread says nothing more.

    >>> rate([1.0, 0.0, 1.0, 1.0]).text
    '75%'
    """
    return MISSING if not numbers else replace(mean_of(numbers, percent(), *more), text=percent()(fmean(numbers)))


def one(value: Value, shown: Shown) -> Entry:
    """A number alone."""
    return MISSING if value is None else Entry(shown(value), (value,))


def mean_of(numbers: Sequence[float], shown: Shown, *more: Value) -> Entry:
    """Mean ± standard deviation (ddof = 1); one number has no spread, and none is a dash.

    >>> mean_of([0.81, 0.83], fixed(3)).text, mean_of([0.81], fixed(3)), mean_of([], fixed(3)).text
    ('0.820 ± 0.014', Entry(text='0.810', numbers=(0.81, None, 1), marks='', best=False, chosen=False, shade=None), '–')
    """
    if not numbers:
        return Entry(NONE, (None, None, 0, *more))
    mean, spread = fmean(numbers), stdev(numbers) if len(numbers) > 1 else None
    return Entry(with_spread(mean, spread, shown), (mean, spread, len(numbers), *more))


def with_spread(mean: float, spread: float | None, shown: Shown) -> str:
    """A mean and its spread, both as finely as the mean.

    >>> with_spread(526.0, 19.0, seconds), with_spread(0.8, None, fixed(1))
    ('526 ± 19', '0.8')
    """
    if spread is None:
        return shown(mean)
    return f"{shown(mean)} ± {seconds(spread, beside=mean) if shown is seconds else shown(spread)}"


def ranked(rows: Sequence[Row], columns: Sequence[int], higher: bool | None) -> list[Row]:
    """Shades each of these columns by its first number, and marks what reads the same as the best.

    Where all read the same, nothing stands out. `higher` None says that neither end is the good one.
    """
    if higher is None:
        return list(rows)
    for at in columns:
        found = [(row[at].numbers[0], _mean_text(row[at])) for row in rows if row[at].numbers]
        known = {value: text for value, text in found if value is not None}
        if len(set(known.values())) < 2:
            continue
        best, worst = (max(known), min(known)) if higher else (min(known), max(known))
        rows = [(*row[:at], _ranked(row[at], best, worst, known[best]), *row[at + 1 :]) for row in rows]
    return list(rows)


def _ranked(entry: Entry, best: float, worst: float, shown: str) -> Entry:
    value = entry.numbers[0] if entry.numbers else None
    if value is None:
        return entry
    return replace(entry, shade=(value - worst) / (best - worst), best=_mean_text(entry) == shown)


def _mean_text(entry: Entry) -> str:
    return entry.text.split(" ± ")[0]
