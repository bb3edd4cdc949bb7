"""The estimates of a project as a table, a figure and files to publish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from hybridal.measures.shares.groups import PERIODS, By
from hybridal.measures.shares.share_methods import methods
from hybridal.measures.shares.share_sentences import (
    confidence_of,
    gain_sentence,
    sentence,
    unit_of,
)
from hybridal.measures.shares.share_table import Line, ShareTable
from hybridal.reports.figure_kit import drawing, key, label_outside, mark, paneled, rows
from hybridal.reports.figure_style import INK, MUTED, Drawn, file_content, save
from hybridal.reports.number_formats import plain
from hybridal.reports.share_tables import NAME, table_of_shares
from hybridal.reports.table_formats import to_csv, to_markdown
from hybridal.system.files import strict_json, write_whole

ESTIMATED, COUNTED, ALONE = "#3b6fb6", "#d99a2b", MUTED
MAX_PANELS, MAX_ROWS = 12, 40  # a figure has no more classes or groups


def figure_of_shares(table: ShareTable) -> Drawn:
    """Draw the shares: over time, by group, or of all texts."""
    if table.groups and By.of(table.by).unit in PERIODS:
        return _over_time(table)
    return _by_group(table) if table.groups else _of_all(table)


def _heading(table: ShareTable) -> tuple[str, str]:
    sure = confidence_of(table)
    reading = f"Bars are {sure} intervals by random labels and the model's predictions; diamonds are the naive count."
    return "Shares of classes", reading


def _keys(table: ShareTable) -> list[dict[str, object]]:
    estimated = key(f"estimate, {confidence_of(table)} interval", color=ESTIMATED, marker="o", markersize=5)
    estimated |= {"linestyle": "-", "linewidth": 1.5}
    return [estimated, key("the model's answers counted", color=COUNTED, marker="D", markersize=4)]


def _of_all(table: ShareTable) -> Drawn:
    lines = table.of("share", "")[:MAX_ROWS]
    with drawing(0.5 + 0.24 * len(lines), _keys(table)) as figure:
        axes = figure.subplots()
        _bars(axes, lines, [plain(line.name) for line in lines])
        axes.set_xlabel("share of the texts")
    heading, reading = _heading(table)
    return Drawn(figure, heading, reading, _alt(table, lines))


def _by_group(table: ShareTable) -> Drawn:
    names, groups = table.classes[:MAX_PANELS], table.groups[:MAX_ROWS]
    with paneled(len(names), 0.55 + 0.2 * len(groups), _keys(table)) as (figure, panels):
        for name, axes in zip(names, panels, strict=True):
            _bars(axes, [table.of("share", group, name)[0] for group in groups], [plain(group) for group in groups])
            axes.set_title(plain(name, 40))
        label_outside(panels, "share of the texts")
    heading, reading = _heading(table)
    return Drawn(figure, f"{heading} by {By.of(table.by).column}", reading, _alt(table, table.of("share", "")))


def _over_time(table: ShareTable) -> Drawn:
    names = table.classes[:MAX_PANELS]
    with paneled(len(names), 1.5, _keys(table)) as (figure, panels):
        for name, axes in zip(names, panels, strict=True):
            lines = [table.of("share", group, name)[0] for group in table.groups]
            for at, line in enumerate(lines):
                mark(axes, at, line.count, "D", 4, COUNTED)
                if line.estimate is not None:
                    axes.plot([at, at], [line.estimate.low, line.estimate.high], color=ESTIMATED, linewidth=1.5)
                    mark(axes, at, line.estimate.value, "o", 5, ESTIMATED)
            known = [(at, line.estimate.value) for at, line in enumerate(lines) if line.estimate is not None]
            axes.plot([at for at, _ in known], [value for _, value in known], color=ESTIMATED, linewidth=0.6, alpha=0.5)
            step = -(-len(lines) // 6)
            axes.set_xticks(range(0, len(lines), step), [plain(group) for group in table.groups[::step]])
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
            axes.set_ylim(bottom=0)
            axes.set_title(plain(name, 40))
        label_outside(panels, By.of(table.by).unit, "share of the texts")
    heading, reading = _heading(table)
    return Drawn(figure, f"{heading} by {unit_of(table)}", reading, _alt(table, table.of("share", "")))


def _bars(axes: Axes, lines: Sequence[Line], names: Sequence[str]) -> None:
    for at, line in enumerate(lines):
        if line.estimate is not None:
            axes.plot([line.estimate.low, line.estimate.high], [at, at], color=ESTIMATED, linewidth=1.5)
            mark(axes, line.estimate.value, at, "o", 5, ESTIMATED)
        else:
            axes.text(0.02, at, "too few random labels", color=INK, va="center", transform=axes.get_yaxis_transform())
        mark(axes, line.count, at, "D", 4, COUNTED)
    rows(axes, names)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))


def _alt(table: ShareTable, lines: Sequence[Line]) -> str:
    return " ".join(sentence(line, table) for line in lines)


def page_of_shares(table: ShareTable) -> str:
    """Return the estimates as Markdown: sentences, the table and the methods paragraph."""
    written = table_of_shares(table)
    found = [sentence(line, table) for line in table.of("share", "")]
    gain = gain_sentence(table)
    parts = ["# Shares", "\n".join(f"- {line}" for line in found), gain, to_markdown(written) if written else ""]
    return "\n\n".join([*filter(None, parts), "## Methods", methods(table)]) + "\n"


def content_of(table: ShareTable, kind: str) -> bytes:
    """Return one of the files that `write_shares` writes."""
    written = table_of_shares(table)
    if kind == "csv":
        return to_csv(written).encode() if written else b""
    if kind == "md":
        return page_of_shares(table).encode()
    return file_content(figure_of_shares(table), kind, NAME)


def write_shares(table: ShareTable, folder: Path) -> list[Path]:
    """Write `shares.csv`, `shares.md`, `shares.json`, and the figure as SVG, PNG and PDF; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = table_of_shares(table)
    found = {
        "csv": to_csv(written) if written else "",
        "md": page_of_shares(table),
        "json": strict_json({**table.to_json(), "methods": methods(table)}, indent=2) + "\n",
    }
    paths = [folder / f"{NAME}.{kind}" for kind in found]
    for path, text in zip(paths, found.values(), strict=True):
        write_whole(path, text)
    return [*paths, *save({NAME: figure_of_shares(table)}, folder)]
