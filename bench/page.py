"""`python -m bench.page` updates the tables of docs/performance.md from the measurements."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.contenders import PHASES
from bench.figures import RATIOS
from bench.process import ROOT
from hybridal.errors import UserError
from hybridal.system.files import write_whole

PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "bench" / "results"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

Result = Mapping[str, Any]
Figure = Mapping[str, Any]


def main(page: Path = PAGE, results: Path = RESULTS) -> None:
    """Write the tables of all available results between the two markers of the page."""
    sections = {"cpu.json": cpu_section, "gpu.json": gpu_section}
    found = {name: results / name for name in sections if (results / name).is_file()}
    tables = [sections[name](json.loads(path.read_text(encoding="utf-8"))) for name, path in found.items()]
    write_whole(page, between(page.read_text(encoding="utf-8"), "\n".join(tables)))


def between(text: str, tables: str) -> str:
    """The text with these tables between its markers.

    >>> between(f"before {BEGIN} old {END} after", "new") == f"before {BEGIN}\\n\\nnew\\n{END} after"
    True
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UserError(f"{PAGE.name} needs the lines {BEGIN} and {END}; put them where the tables belong.")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def cpu_section(result: Result) -> str:
    """The ratios, a table of each task, memory, and growth."""
    figures = {figure["name"]: figure for figure in result["figures"]}
    contenders = [name.removeprefix("memory/") for name in figures if name.startswith("memory/")]
    tasks = [name.removesuffix("/round_vs_trainer") for name in figures if name.endswith("/round_vs_trainer")]
    parts = [
        f"## On a processor\n\n{machine(result['machine'])}\n\n{round_of(result['rules'])}\n",
        "How many times as fast as its peers this engine is:\n",
        table(["", *tasks], [[ratio_words(r), *(cell(figures[f"{t}/{r}"]) for t in tasks)] for r in RATIOS]),
    ]
    columns = ["round", *PHASES, "rest", "set-up", "scored"]
    for task in tasks:
        rows = [[name, *(cell(figures[f"{task}/{name}/{c}"]) for c in columns)] for name in contenders]
        parts += [f"Seconds of a round, {task}; `scored` is texts per second:\n", table(["", *columns], rows)]
    rows = [[name, cell(figures[f"memory/{name}"])] for name in contenders]
    parts += ["Peak memory of the process:\n", table(["", "MB"], rows)]
    parts += [growth_table(figures, "pool", ["tokenise", "score", "select", "round", "memory"])]
    parts += [growth_table(figures, "labels", ["train"])]
    if any(name.startswith("signals/") for name in figures):
        parts += [signal_table(figures, tasks)]
    return "\n".join(parts)


def gpu_section(result: Result) -> str:
    """Every figure that there is."""
    rows = [[figure["name"], cell(figure), figure["unit"]] for figure in result["figures"]]
    ratios = [[f"`{name}`", number(value), ""] for name, value in result["ratios"].items()]
    return f"## On a GPU\n\n{machine(result['machine'])}\n\n" + table(["", "median", "unit"], rows + ratios)


def growth_table(figures: Mapping[str, Figure], what: str, columns: Sequence[str]) -> str:
    sizes = sorted({int(name.split("/")[1]) for name in figures if name.startswith(f"{what}/")})
    rows = [[f"{size:,}", *(cell(figures[f"{what}/{size}/{c}"]) for c in columns)] for size in sizes]
    title = {
        "pool": "This engine with `tiny`, 32 labels and ever more candidates (seconds; memory in MB):",
        "labels": "This engine with `tiny`, three epochs over ever more labels (seconds):",
    }[what]
    return f"{title}\n\n{table([what, *columns], rows)}"


def signal_table(figures: Mapping[str, Figure], tasks: Sequence[str]) -> str:
    names = [name.removeprefix(f"signals/{tasks[0]}/") for name in figures if name.startswith(f"signals/{tasks[0]}/")]
    rows = [[name, *(cell(figures[f"signals/{task}/{name}"]) for task in tasks)] for name in names if name != "train"]
    took = ", ".join(f"{number(figures[f'signals/{task}/train']['value'])} s on {task}" for task in tasks)
    title = f"What a signal costs, in percent of the training in the paper's first round, with `minilm` ({took}):"
    return f"{title}\n\n{table(['signal', *tasks], rows)}"


def machine(about: Mapping[str, Any]) -> str:
    """The machine in one line."""
    return "Machine: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in about.items()) + "."


def round_of(rules: Mapping[str, Any]) -> str:
    """A description of the round in one sentence."""
    return (
        f"A round: {rules['epochs']} epochs over {rules['labelled']} labelled texts in batches of {rules['batch']}, a "
        f"pass over {rules['validation']} validation texts after each, {rules['candidates']} candidates scored and "
        f"{rules['choose']} of them chosen by entropy; at most {rules['length']} tokens a text, learning rate "
        f"{rules['learning_rate']:g}."
    )


def ratio_words(name: str) -> str:
    what, _, peer = name.partition("_vs_")
    return f"{what} vs {peer.replace('_', '-')}"


def cell(figure: Figure) -> str:
    """The median, with its spread where there is any.

    >>> cell({"value": 2.5, "low": 2.0, "high": 3.25}), cell({"value": 7, "low": 7, "high": 7})
    ('2.5 (2–3.25)', '7')
    """
    middle, low, high = (number(figure[key]) for key in ("value", "low", "high"))
    return middle if low == high else f"{middle} ({low}–{high})"


def number(value: float) -> str:
    """Three significant digits; `<0.001` below a thousandth.

    >>> number(0.0004567), number(12.345), number(123456.0)
    ('<0.001', '12.3', '123,456')
    """
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(str(error))
