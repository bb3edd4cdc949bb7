"""Write tables as Markdown, as CSV with exact numbers, and as LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from itertools import chain, groupby
from pathlib import Path

from hybridal.reports.report_table import Column, Entry, Row, Table
from hybridal.system.files import write_whole


def to_csv(table: Table) -> str:
    """Return CSV with numbers in full precision, so that they survive a round trip; missing numbers are empty."""
    lines = [[*table.keys, *(name for column in table.columns for name in column.fields())]]
    for section in table.sections:
        for row in section.rows:
            cells = [_fields(entry, column) for entry, column in zip(row, table.columns, strict=True)]
            lines.append([*section.keys, *chain(*cells)])
    return "".join(map(_csv_line, lines))


def _fields(entry: Entry, column: Column) -> list[str]:
    if not column.parts:
        return [entry.text]
    return ["" if number is None else repr(number) for number in entry.numbers] or [""] * len(column.parts)


def _csv_line(fields: list[str]) -> str:
    """One line. The \\r\\n terminator makes the writer quote fields that contain either character."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(fields)
    return text.getvalue().removesuffix("\r\n") + "\n"


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$&!])")


def to_markdown(table: Table) -> str:
    """Return Markdown: best values in bold, chosen ones as code, a heading row for each section."""
    lines = [plain(table.caption), ""] if table.caption else []
    headings = [": ".join(part for part in (column.group, column.title) if part) for column in table.columns]
    lines.append(_line(map(plain, headings)))
    lines.append(_line("--:" if column.parts else ":--" for column in table.columns))
    for section in table.sections:
        if section.title:
            lines.append(_line([f"**{plain(section.title)}**", *[""] * (len(table.columns) - 1)]))
        lines += [_line(map(_as_markdown, row)) for row in section.rows]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Escape text for Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _as_markdown(entry: Entry) -> str:
    text = plain(entry.text)
    if entry.chosen and "`" not in entry.text:
        text = f"`{' '.join(entry.text.split())}`".replace("|", "\\|")
    elif entry.best:
        text = f"**{text}**"
    return text + plain(entry.marks)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# LaTeX commands for characters in text and in formulas; in formulas a command needs a space after it.
_TEXT_SIGNS, _MATH_SIGNS = '\0\\{}$&#%_^~<>|"`–—…✓✗', "αδεθλρτΔ∇‖±×−≤≥·∞"
_IN_TEXT = (
    r"{} \textbackslash{} \{ \} \$ \& \# \% \_ \textasciicircum{} \textasciitilde{} \textless{} "
    r"\textgreater{} \textbar{} \char34{} \char96{} -- --- \ldots{} \ding{51} \ding{55}"
)
_IN_MATH = (
    r"\alpha \delta \varepsilon \theta \lambda \rho \tau \Delta \nabla \| \pm \times - \leq \geq \cdot "
    r"\infty"
)
_TEXT = dict(zip(_TEXT_SIGNS, _IN_TEXT.split(), strict=True))
_MATH = {
    sign: f"{command} " if command[1:].isalpha() else command
    for sign, command in zip(_MATH_SIGNS, _IN_MATH.split(), strict=True)
}

# LaTeX merges two of these into a different character (a ligature).
_JOINING = "-',"


def escaped(text: str) -> str:
    """Escape text for LaTeX. Letters of other scripts stay: LaTeX reads UTF-8 since 2018, given a suitable font."""
    one_line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    for sign in _JOINING:
        one_line = one_line.replace(sign * 2, f"{sign}\0{sign}").replace(sign * 2, f"{sign}\0{sign}")
    pieces = []
    for math, signs in groupby(one_line, key=lambda sign: sign in _MATH):
        piece = "".join((_MATH if math else _TEXT).get(sign, sign) for sign in signs)
        pieces.append(f"${piece.rstrip()}$" if math else piece)
    return "".join(pieces)


PACKAGES = ("booktabs", "[table]{xcolor}", "pifont", "graphicx")

# As in the paper: percentage of green for the best cell of a column.
_GREEN = 55
_WIDE = 6


def to_latex(table: Table) -> str:
    """Return a LaTeX float with caption and label `tab:NAME`; it needs `PACKAGES`."""
    wide = len(table.columns) > _WIDE
    float_name = "table*" if wide else "table"
    body = ["\\toprule", *_headings(table.columns)]
    for section in table.sections:
        title = f"\\multicolumn{{{len(table.columns)}}}{{l}}{{\\textbf{{{escaped(section.title)}}}}} \\\\"
        body += ["\\midrule", *([title] if section.title else []), *map(_latex_row, section.rows)]
    lines = [f"\\begin{{tabular}}{{{''.join('r' if column.parts else 'l' for column in table.columns)}}}"]
    lines += [f"  {line}" for line in [*body, "\\bottomrule"]]
    lines.append("\\end{tabular}")
    if wide:
        lines = ["\\setlength{\\tabcolsep}{3pt}", "\\resizebox{\\textwidth}{!}{%", *lines[:-1], f"{lines[-1]}}}"]
    lines = ["\\centering", "\\small", *lines, f"\\caption{{{escaped(table.caption)}}}", f"\\label{{tab:{table.name}}}"]
    return "\n".join([f"\\begin{{{float_name}}}[t]", *(f"  {line}" for line in lines), f"\\end{{{float_name}}}"]) + "\n"


def to_document(tables: list[Table]) -> str:
    """Return a complete LaTeX document with all tables."""
    uses = [f"\\usepackage{name}" if name.startswith("[") else f"\\usepackage{{{name}}}" for name in PACKAGES]
    begin = ["\\documentclass{article}", "\\usepackage[T1]{fontenc}", *uses, "\\begin{document}", ""]
    return "\n".join([*begin, *(f"{to_latex(table)}\\clearpage\n" for table in tables), "\\end{document}"]) + "\n"


def _headings(columns: tuple[Column, ...]) -> list[str]:
    titles = f"{' & '.join(escaped(column.title) for column in columns)} \\\\"
    if not any(column.group for column in columns):
        return [titles]
    cells, rules, at = [], [], 1
    for name, members in groupby(columns, key=lambda column: column.group):
        size = len(list(members))
        cells.append(f"\\multicolumn{{{size}}}{{c}}{{{escaped(name)}}}")
        if name:
            rules.append(f"\\cmidrule(lr){{{at}-{at + size - 1}}}")
        at += size
    return [f"{' & '.join(cells)} \\\\", "".join(rules), titles]


def _latex_row(row: Row) -> str:
    cells = " & ".join(map(_as_latex, row))
    # After the \\ of the previous row, a bracket would be parsed as its optional argument.
    return f"{'{}' if cells.startswith(('[', '*')) else ''}{cells} \\\\"


def _as_latex(entry: Entry) -> str:
    text = escaped(entry.text)
    if entry.best:
        text = f"\\textbf{{{text}}}"
    if entry.marks:
        text += f"\\textsuperscript{{{escaped(entry.marks)}}}"
    if entry.chosen:
        return f"\\cellcolor{{gray!25}} {text}"
    return text if entry.shade is None else f"\\cellcolor{{green!{round(_GREEN * entry.shade)}}} {text}"


def write_tables(tables: Mapping[str, Table], out: Path) -> list[Path]:
    """Write each table as NAME.md, NAME.csv and NAME.tex, and all of them as the document `tables.tex`."""
    out.mkdir(parents=True, exist_ok=True)
    kinds = {"md": to_markdown, "csv": to_csv, "tex": to_latex}
    written = {out / f"{name}.{kind}": make(table) for name, table in tables.items() for kind, make in kinds.items()}
    written[out / "tables.tex"] = to_document(list(tables.values()))
    for path, text in written.items():
        write_whole(path, text)
    return list(written)
