from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hybridal.measures.shares.share_table import Basis, Interval, Line, ShareTable
from hybridal.reports.share_report import figure_of_shares, page_of_shares, write_shares
from hybridal.reports.share_tables import aligned, table_of_shares
from hybridal.reports.table_formats import to_csv

FOUND, ALONE = Interval(0.25, 0.2, 0.3125), Interval(0.24, 0.1, 0.4)


def share(group: str, name: str, known: bool = True) -> Line:
    needed = 0 if known else 40
    return Line("share", group, "", name, 900, 90, 0.5, ALONE if known else None, FOUND if known else None, needed)


def table(by: str = "", groups: tuple[str, ...] = ()) -> ShareTable:
    lines = [share(group, name, known=group != "few") for group in ("", *groups) for name in ("late", "a|b")]
    lines += [Line("difference", "b", "", "late", 900, 90, 0.1, ALONE, FOUND)] if groups else []
    lines += [Line("trend", "", "", "late", 900, 90, 0.0004, ALONE, FOUND)] if ":" in by else []
    return ShareTable(tuple(lines), ("late", "a|b"), 0.95, Basis(900, 90, 1), by, groups)


def test_the_table_has_exact_numbers() -> None:
    found = table_of_shares(table("branch", ("b", "few")))
    assert found is not None
    rows = list(csv.DictReader(io.StringIO(to_csv(found))))
    assert rows[0]["what"] == "Shares"
    assert (rows[0]["of"], rows[0]["class"], rows[0]["texts"]) == ("all texts", "late", "900")
    assert [float(rows[0][f"estimate (95%) {part}"]) for part in ("value", "low", "high")] == [0.25, 0.2, 0.3125]
    assert float(rows[0]["counted by the model"]) == 0.5
    few = next(row for row in rows if row["of"] == "few")
    assert few["estimate (95%) value"] == ""
    assert rows[-1]["of"] == "b − all other texts"


def test_the_table_for_a_terminal_is_aligned() -> None:
    found = table_of_shares(table("branch", ("b", "few")))
    assert found is not None
    lines = aligned(found).splitlines()
    assert {len(line) for line in lines if "  " in line} == {len(lines[0])}
    assert "25.0% (20.0% to 31.2%)" in lines[3]
    assert lines[2] == "Shares"


@pytest.mark.parametrize(
    ("by", "groups"), [("", ()), ("branch", ("b", "few")), ("month:sent", ("2024-01", "few", "2024-03"))]
)
def test_figures_show_estimates_and_the_naive_count(by: str, groups: tuple[str, ...]) -> None:
    drawn = figure_of_shares(table(by, groups))
    svg = drawn.svg("shares")
    ElementTree.fromstring(svg)
    words = "".join(ElementTree.fromstring(svg).itertext())
    assert "the model's answers counted" in words
    assert "estimate, 95% interval" in words
    for name in ("late", "a|b", *(groups[:1] if groups else ())):
        assert name in words
    assert "95% confidence" in drawn.alt
    assert ("too few random labels" in words) == (by == "branch")


def test_all_files_are_written(tmp_path: Path) -> None:
    paths = write_shares(table("branch", ("b", "few")), tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"shares.{kind}" for kind in ("csv", "md", "json", "svg", "png", "pdf")]
    found = json.loads(paths[2].read_text())
    assert found["lines"][0]["estimate"] == {"value": 0.25, "low": 0.2, "high": 0.3125}
    assert "prediction-powered" in found["methods"]
    page = paths[1].read_text()
    assert "- late: 25.0% of the texts, 20.0% to 31.2% with 95% confidence" in page
    assert "## Methods" in page
    assert "a\\|b" in page


def test_a_table_without_groups_has_one_section() -> None:
    assert "Differences" not in page_of_shares(table())
