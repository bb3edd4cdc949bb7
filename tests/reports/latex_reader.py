"""A small reader of LaTeX tables: it refuses what TeX would refuse, and gives the cells back."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Read:
    spec: str
    headings: list[str]
    sections: dict[str, list[list[str]]]
    shades: list[list[str]]
    caption: str


def read(latex: str) -> Read:
    check(latex)
    found = re.search(r"\\begin\{tabular\}\{([lrc]+)\}\n(.*?)\\end\{tabular\}", latex, re.S)
    assert found
    spec, body = found.groups()
    before, _, rest = body.partition("\\midrule")
    headings = _cells([line for line in before.splitlines() if line.rstrip().endswith("\\\\")][-1])
    assert len(headings) == len(spec)
    sections: dict[str, list[list[str]]] = {}
    shades: list[list[str]] = []
    for part in rest.replace("\\bottomrule", "").split("\\midrule"):
        title, rows = "", []
        for line in filter(None, map(str.strip, part.splitlines())):
            spanned = re.fullmatch(r"\\multicolumn\{(\d+)\}\{l\}\{\\textbf\{(.*)\}\} \\\\", line)
            if spanned:
                assert int(spanned[1]) == len(spec)
                title = shown(spanned[2])
                continue
            cells = _cells(line)
            assert len(cells) == len(spec), line
            rows.append([shown(cell) for cell in cells])
            shades.append([(re.findall(r"\\cellcolor\{(.*?)\}", cell) or [""])[0] for cell in cells])
        assert title not in sections
        sections[title] = rows
    caption = re.search(r"\\caption\{(.*)\}\n", latex)
    assert caption
    return Read(spec, headings, sections, shades, shown(caption[1]))


def check(latex: str) -> None:
    """Braces and environments close in the order in which they opened, and math ends where it began."""
    assert all(sign.isprintable() or sign == "\n" for sign in latex)
    plain = re.sub(r"\\[\\{}$&#%_|]", "", latex)
    depth = 0
    for sign in plain:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    for line in plain.splitlines():
        assert line.count("$") % 2 == 0, line
        assert not re.search(r"(?<!\\)[#~^\"`]", re.sub(r"\$[^$]*\$", "", line)), line
        assert "%" not in line.removesuffix("%"), line
    open_now: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(.*?)\}", plain):
        if kind == "begin":
            open_now.append(name)
        else:
            assert open_now.pop() == name
    assert not open_now


def _cells(line: str) -> list[str]:
    assert line.rstrip().endswith("\\\\")
    return [cell.strip() for cell in re.split(r"(?<!\\)&", line.strip()[:-2])]


_BACK = {
    r"\textbackslash{}": "\\", "{}": "", "--": "–",
    r"$\pm$": "±", r"$-$": "−", r"\%": "%", r"\_": "_", r"\&": "&", r"\#": "#", r"\$": "$", r"\{": "{", r"\}": "}",
    r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~", r"\char34{}": '"', r"\char96{}": "`", r"$\Delta$": "Δ", r"$\Delta \alpha$": "Δα",
    r"$\varepsilon$": "ε", r"$\delta$": "δ", r"$-\delta$": "−δ", r"\ding{51}": "✓", r"\ding{55}": "✗", r"$\tau$": "τ",
    r"$\lambda$": "λ", r"$\geq$": "≥", r"$\leq$": "≤", r"$\times$": "×", r"$\infty$": "∞", r"$\rho$": "ρ",
}  # fmt: skip


def shown(cell: str) -> str:
    """The printed text; `^` stands before superscripts."""
    cell = re.sub(r"\\cellcolor\{.*?\} ?", "", cell)
    cell = re.sub(r"\\textsuperscript\{(.*?)\}", r"^\1", cell)
    cell = re.sub(r"\\textbf\{((?:[^{}]|\{\}|\\[{}])*)\}", r"\1", cell)
    known = sorted(_BACK, key=len, reverse=True)
    signs = re.findall("|".join([*map(re.escape, known), "."]), cell)
    return "".join(_BACK.get(sign, sign) for sign in signs).strip()
