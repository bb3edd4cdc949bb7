"""Numbers as people read them. Nothing is computed here: a number is only shortened."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NONE = "–"
Shown = Callable[[float], str]


def count(value: int | None) -> str:
    """A whole number, with its thousands apart.

    >>> count(1234567), count(None)
    ('1,234,567', '–')
    """
    return NONE if value is None else f"{value:,}"


def counted(value: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "round"), counted(1200, "text"), counted(2, "pass", "passes")
    ('1 round', '1,200 texts', '2 passes')
    """
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def score(value: float | None, digits: int = 3) -> str:
    """A measure such as accuracy or NLL.

    >>> score(0.87345), score(1.6, 2), score(None)
    ('0.873', '1.60', '–')
    """
    return NONE if value is None else f"{value:.{digits}f}"


def change(value: float | None) -> str:
    """A signal's change, in two digits that count: signals differ by orders of magnitude.

    >>> change(0.00426), change(0.0000123), change(1e-4), change(0.0), change(1.0), change(1234.6)
    ('0.0043', '1.2e-5', '1e-4', '0', '1', '1235')
    """
    if value is None:
        return NONE
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(exponent)}"
    return f"{value:.0f}" if abs(value) >= 10 else f"{float(f'{value:.2g}'):g}"


def threshold(value: float) -> str:
    """An ε, as exactly as it was given where that is short.

    >>> threshold(0.005), threshold(1e-4), threshold(0.03901235)
    ('0.005', '0.0001', '0.03901')
    """
    return f"{value:.4g}"


def big(value: int) -> str:
    """A large count in three digits.

    >>> big(950), big(12345), big(1_200_000), big(3_210_000_000)
    ('950', '12.3 thousand', '1.2 million', '3.21 billion')
    """
    if value < 10**4:
        return count(value)
    # Three digits first, so that what rounds up to a million is called one.
    rounded = int(float(f"{value:.3g}"))
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if rounded >= unit:
            return f"{rounded / unit:.12g} {name}"
    return f"{rounded / 1000:.12g} thousand"


def duration(seconds: float | None) -> str:
    """A time in the unit that suits it.

    >>> duration(0.0042), duration(3.21), duration(75.4), duration(3599.9), duration(7384), duration(0)
    ('4 ms', '3.2 s', '1 min 15 s', '1 h 0 min', '2 h 3 min', '0 s')
    """
    if seconds is None:
        return NONE
    if seconds == 0:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def joined(items: Sequence[str]) -> str:
    """A list in words.

    >>> joined(["4"]), joined(["4", "5"]), joined(["4", "5", "6"])
    ('4', '4 and 5', '4, 5 and 6')
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def rounds_between(first: int, last: int) -> str:
    """A stretch of rounds.

    >>> rounds_between(3, 3), rounds_between(1, 5)
    ('round 3', 'rounds 1–5')
    """
    return f"round {first}" if first == last else f"rounds {first}–{last}"


def times(value: int) -> str:
    """How often.

    >>> times(1), times(2), times(3), times(12)
    ('once', 'twice', 'three times', '12 times')
    """
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}
    return words.get(value, f"{value} times")


def plain(text: str, most: int = 22) -> str:
    """One line of printable characters, as long as a figure can take.

    >>> plain("a\\n b\\x00c"), plain("x" * 30)
    ('a b c', 'xxxxxxxxxxxxxxxxxxxxx…')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "?"
    return line if len(line) <= most else line[: most - 1] + "…"


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


def with_spread(mean: float, spread: float | None, shown: Shown) -> str:
    """A mean and its spread, both as finely as the mean.

    >>> with_spread(526.0, 19.0, seconds), with_spread(0.8, None, fixed(1))
    ('526 ± 19', '0.8')
    """
    if spread is None:
        return shown(mean)
    return f"{shown(mean)} ± {seconds(spread, beside=mean) if shown is seconds else shown(spread)}"
