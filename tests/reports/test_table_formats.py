from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.reports.report_table import MEAN, Column, Entry, Section, Table
from hybridal.reports.table_formats import escaped, to_csv, to_latex, to_markdown

from .latex_reader import check, read, shown

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)


def of(text: str, numbers: tuple[float | int | None, ...] = (0.5, None, 1), **look: object) -> Table:
    row = (Entry(text), Entry(text, numbers, **look))  # type: ignore[arg-type]
    columns = (Column(text), Column("T", MEAN, group=text))
    return Table("t", text, columns, (Section((text,), (row,)),), ("Key",))


@settings(max_examples=60, deadline=None)
@given(names)
def test_any_name_is_valid_latex_and_markdown(name: str) -> None:
    found = read(to_latex(of(name, marks="*")))
    assert len(found.headings) == 2
    check(escaped(name))
    lines = to_markdown(of(name)).splitlines()
    assert len({line.replace("\\\\", "").replace("\\|", "").count("|") for line in lines if line[:2] == "| "}) == 1


@settings(max_examples=60, deadline=None)
@given(st.text('ab _&%#$^~<>|"`\\{}', min_size=1))
def test_escaping_loses_nothing(text: str) -> None:
    assert shown(escaped(text)).split() == text.split()


@settings(max_examples=60, deadline=None)
@given(names, st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_csv_gives_the_same_numbers_and_words_again(name: str, mean: float, n: int) -> None:
    text = to_csv(of(name, (mean, None, n)))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[1][:2] == [name, name]
    assert (float(rows[1][2]), rows[1][3], int(rows[1][4])) == (mean, "", n)


def test_a_row_may_begin_with_a_bracket_in_latex() -> None:
    latex = to_latex(of("[1em]"))
    assert "\n    {}[1em] &" in latex
    assert "\n    {}* &" in to_latex(of("*"))


def test_groups_span_their_columns() -> None:
    columns = (Column("M"), *(Column(t, ("value",), g) for g in ("A", "B") for t in ("x", "y")))
    table = Table("t", "c", columns, (Section((), ((Entry("m"), *(Entry("1", (1,)) for _ in range(4))),)),))
    latex = to_latex(table)
    assert r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{A} & \multicolumn{2}{c}{B} \\" in latex
    assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}" in latex
    assert "| M | A: x | A: y | B: x | B: y |" in to_markdown(table)
    assert to_csv(table).splitlines()[0] == "M,A x,A y,B x,B y"


def test_wide_tables_are_made_to_fit() -> None:
    columns = tuple(Column(str(at)) for at in range(9))
    latex = to_latex(Table("t", "c", columns, (Section((), (tuple(Entry("x") for _ in columns),)),)))
    assert latex.startswith("\\begin{table*}")
    assert "\\resizebox{\\textwidth}{!}{%" in latex
    read(latex)


def test_marks_shades_and_choices() -> None:
    assert "\\cellcolor{gray!25} 1\\textsuperscript{*}" in to_latex(of("1", marks="*", chosen=True))
    assert "\\cellcolor{green!28} \\textbf{1}" in to_latex(of("1", best=True, shade=0.5))
    assert "`1`\\*" in to_markdown(of("1", marks="*", chosen=True))
    assert "**1**" in to_markdown(of("1", best=True))


def test_a_table_that_does_not_fit_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="cells for 2 columns"):
        Table("t", "", (Column("a"), Column("b")), (Section((), ((Entry("x"),),)),))
    with pytest.raises(ValueError, match="holds"):
        Table("t", "", (Column("a", MEAN),), (Section((), ((Entry("x", (1.0,)),),)),))
    with pytest.raises(ValueError, match="must have the keys"):
        Table("t", "", (Column("a"),), (Section(("k",), ()),))


def test_table_is_written_in_three_formats() -> None:
    rows = (
        (Entry("Retrain"), Entry("0.67 ± 0.00", (2 / 3, 0.001, 5), best=True, shade=1.0)),
        (Entry("A|B & C"), Entry("0.61", (0.61, None, 1), "*")),
    )
    columns = (Column("Method"), Column("Yahoo", MEAN))
    table = Table("f1", "Test F1.", columns, (Section(("BERT",), rows),), ("Backbone",))
    assert to_csv(table).splitlines() == [
        "Backbone,Method,Yahoo mean,Yahoo std,Yahoo n",
        "BERT,Retrain,0.6666666666666666,0.001,5",
        "BERT,A|B & C,0.61,,1",
    ]
    assert to_markdown(table).splitlines() == [
        "Test F1.",
        "",
        "| Method | Yahoo |",
        "| :-- | --: |",
        "| **BERT** |  |",
        "| Retrain | **0.67 ± 0.00** |",
        r"| A\|B \& C | 0.61\* |",
    ]
    assert [line.strip() for line in to_latex(table).splitlines()] == [
        r"\begin{table}[t]",
        r"\centering",
        r"\small",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"Method & Yahoo \\",
        r"\midrule",
        r"\multicolumn{2}{l}{\textbf{BERT}} \\",
        r"Retrain & \cellcolor{green!55} \textbf{0.67 $\pm$ 0.00} \\",
        r"A\textbar{}B \& C & 0.61\textsuperscript{*} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Test F1.}",
        r"\label{tab:f1}",
        r"\end{table}",
    ]


def test_latex_special_characters_are_escaped() -> None:
    assert escaped("50% of R&D_x") == r"50\% of R\&D\_x"
    assert [escaped("HybridAL Δα"), escaped("a--b")] == [r"HybridAL $\Delta \alpha$", "a-{}-b"]
