"""A table as LaTeX: booktabs rules, shaded cells, marks as superscripts."""

from __future__ import annotations

from itertools import groupby

from hybridal.evidence.tables._escape import escaped
from hybridal.evidence.tables.table import Column, Entry, Row, Section, Table

PACKAGES = ("booktabs", "[table]{xcolor}", "pifont", "graphicx")

# As in the paper: the best cell of a column gets this much green.
_GREEN = 55
_WIDE = 6


def to_latex(table: Table) -> str:
    r"""A float of its own, with the caption and the label `tab:NAME`; it asks for `PACKAGES`.

    >>> row = (Entry("A & B"), Entry("0.67", (0.667,), marks="*", best=True, shade=1.0))
    >>> section = Section((), (row,))
    >>> print(to_latex(Table("f1", "Test F1.", (Column("Method"), Column("Yahoo", ("value",))), (section,))))
    \begin{table}[t]
      \centering
      \small
      \begin{tabular}{lr}
        \toprule
        Method & Yahoo \\
        \midrule
        A \& B & \cellcolor{green!55} \textbf{0.67}\textsuperscript{*} \\
        \bottomrule
      \end{tabular}
      \caption{Test F1.}
      \label{tab:f1}
    \end{table}
    <BLANKLINE>
    """
    wide = len(table.columns) > _WIDE
    float_name = "table*" if wide else "table"
    body = ["\\toprule", *_headings(table.columns)]
    for section in table.sections:
        body += _section(section, len(table.columns))
    lines = [f"\\begin{{tabular}}{{{''.join('r' if column.parts else 'l' for column in table.columns)}}}"]
    lines += [f"  {line}" for line in [*body, "\\bottomrule"]]
    lines.append("\\end{tabular}")
    if wide:
        lines = ["\\setlength{\\tabcolsep}{3pt}", "\\resizebox{\\textwidth}{!}{%", *lines[:-1], f"{lines[-1]}}}"]
    lines = ["\\centering", "\\small", *lines, f"\\caption{{{escaped(table.caption)}}}", f"\\label{{tab:{table.name}}}"]
    return "\n".join([f"\\begin{{{float_name}}}[t]", *(f"  {line}" for line in lines), f"\\end{{{float_name}}}"]) + "\n"


def to_document(tables: list[Table]) -> str:
    """Tables as a document that can be set as it is."""
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


def _section(section: Section, columns: int) -> list[str]:
    title = [f"\\multicolumn{{{columns}}}{{l}}{{\\textbf{{{escaped(section.title)}}}}} \\\\"] if section.title else []
    return ["\\midrule", *title, *map(_row, section.rows)]


def _row(row: Row) -> str:
    cells = " & ".join(map(_shown, row))
    # A bracket after the \\ of the row before would be read as the space to leave there.
    return f"{'{}' if cells.startswith(('[', '*')) else ''}{cells} \\\\"


def _shown(entry: Entry) -> str:
    text = escaped(entry.text)
    if entry.best:
        text = f"\\textbf{{{text}}}"
    if entry.marks:
        text += f"\\textsuperscript{{{escaped(entry.marks)}}}"
    if entry.chosen:
        return f"\\cellcolor{{gray!25}} {text}"
    return text if entry.shade is None else f"\\cellcolor{{green!{round(_GREEN * entry.shade)}}} {text}"
