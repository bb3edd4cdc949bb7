"""Text that LaTeX shows as it is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

_TEXT = {
    "\0": "{}",
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\char96{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "✓": r"\ding{51}",
    "✗": r"\ding{55}",
}
_MATH = {
    "α": r"\alpha ",
    "δ": r"\delta ",
    "ε": r"\varepsilon ",
    "θ": r"\theta ",
    "λ": r"\lambda ",
    "ρ": r"\rho ",
    "τ": r"\tau ",
    "Δ": r"\Delta ",
    "∇": r"\nabla ",
    "‖": r"\|",
    "±": r"\pm ",
    "×": r"\times ",
    "−": "-",
    "≤": r"\leq ",
    "≥": r"\geq ",
    "·": r"\cdot ",
    "∞": r"\infty ",
}


# Two of these in a row would become one other sign.
_JOINING = "-',"


def escaped(text: str) -> str:
    r"""Letters of other scripts stay as they are: LaTeX has read UTF-8 since 2018, given a font that has them.

    >>> print(escaped("50% of R&D_x"), escaped("HybridAL Δα"), escaped("0.8 ± 0.1"), escaped("a--b"))
    50\% of R\&D\_x HybridAL $\Delta \alpha$ 0.8 $\pm$ 0.1 a-{}-b
    """
    one_line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    for sign in _JOINING:
        one_line = one_line.replace(sign * 2, f"{sign}\0{sign}").replace(sign * 2, f"{sign}\0{sign}")
    pieces = groupby(one_line, key=lambda sign: sign in _MATH)
    return "".join(_math(signs) if math else "".join(_TEXT.get(sign, sign) for sign in signs) for math, signs in pieces)


def _math(signs: Iterable[str]) -> str:
    return f"${''.join(_MATH[sign] for sign in signs).rstrip()}$"
