"""Format numbers for people: rounding, units and words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NONE = "–"
Shown = Callable[[float], str]


def count(value: int | None) -> str:
    """A whole number with thousands separators: 1,234,567."""
    return NONE if value is None else f"{value:,}"


def counted(value: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 round, 1,200 texts."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def score(value: float | None, digits: int = 3) -> str:
    """A measure such as accuracy or NLL: 0.873."""
    return NONE if value is None else f"{value:.{digits}f}"


def change(value: float | None) -> str:
    """A signal's change in two significant digits, because signals differ by orders of magnitude: 0.0043, 1.2e-5."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(exponent)}"
    return f"{value:.0f}" if abs(value) >= 10 else f"{float(f'{value:.2g}'):g}"


def threshold(value: float) -> str:
    """An ε in up to four significant digits: 0.0001."""
    return f"{value:.4g}"


def big(value: int) -> str:
    """A large count in three digits: 12.3 thousand, 3.21 billion."""
    if value < 10**4:
        return count(value)
    # Round first, so that 999,999 becomes 1 million.
    rounded = int(float(f"{value:.3g}"))
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if rounded >= unit:
            return f"{rounded / unit:.12g} {name}"
    return f"{rounded / 1000:.12g} thousand"


def duration(seconds: float | None) -> str:
    """A time in a suitable unit: 4 ms, 1 min 15 s, 2 h 3 min."""
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
    """A list in words: 4, 5 and 6."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def rounds_between(first: int, last: int) -> str:
    """A streak of rounds: round 3, rounds 1–5."""
    return f"round {first}" if first == last else f"rounds {first}–{last}"


def times(value: int) -> str:
    """How often: once, twice, 12 times."""
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}
    return words.get(value, f"{value} times")


def plain(text: str, most: int = 22) -> str:
    """One line of printable characters, shortened to `most`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "?"
    return line if len(line) <= most else line[: most - 1] + "…"


def fixed(digits: int) -> Shown:
    """A number with this many decimals: 0.819, 1,509."""
    return lambda value: f"{value:,.{digits}f}".replace("-", "−")


def percent(digits: int = 0) -> Shown:
    """A share in percent: 93%, −16.6%."""
    return lambda value: f"{100 * value:.{digits}f}%".replace("-", "−")


def signed(digits: int) -> Shown:
    """A difference, with its sign: +0.0005."""
    return lambda value: f"{value:+.{digits}f}".replace("-", "−")


def seconds(value: float, scale: float | None = None) -> str:
    """Seconds, rounded to suit their size or that of `scale`."""
    size = abs(value if scale is None else scale)
    return fixed(0 if size >= 100 else 1 if size >= 1 else 3)(value)


def p_value(value: float) -> str:
    """A level of significance: 0.031, < 0.001."""
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"


def with_spread(mean: float, spread: float | None, shown: Shown) -> str:
    """A mean and its spread, both rounded to suit the mean: 526 ± 19."""
    if spread is None:
        return shown(mean)
    return f"{shown(mean)} ± {seconds(spread, scale=mean) if shown is seconds else shown(spread)}"
