from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench import page
from bench.contenders import PHASES
from bench.figures import OURS, RATIOS, SMALL_TEXT, TRAINER, figure
from bench.job import Rules
from hybridal.errors import UserError

PROSE = f"# Performance\n\nBefore.\n\n{page.BEGIN}\nold\n{page.END}\n\nAfter.\n"


def cpu() -> dict[str, Any]:
    figures = [figure(f"tweets/{ratio}", "times", [3.1, 3.2, 3.4]) for ratio in RATIOS]
    for contender in (OURS, TRAINER, SMALL_TEXT):
        columns = ("round", *PHASES, "rest", "set-up", "scored")
        figures += [figure(f"tweets/{contender}/{column}", "s", [1.0, 2.0]) for column in columns]
        figures.append(figure(f"memory/{contender}", "MB", [1234.5]))
    for what in ("tokenise", "score", "select", "round", "memory"):
        figures += [figure(f"pool/{size}/{what}", "s", [size / 1e4]) for size in (1000, 1_000_000)]
    figures.append(figure("labels/100/train", "s", [0.5]))
    return {"machine": {"cores": 2}, "ratios": {}, "rules": asdict(Rules()), "figures": figures}


GPU = {
    "machine": {"gpu": "a fast one"},
    "ratios": {"steps_vs_plain": 5.4321},
    "figures": [{"name": "graphs, 64 tokens", "value": 123.4, "low": 120.0, "high": 125.0, "unit": "steps/s"}],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text(PROSE)
    return tmp_path


def test_prose_around_the_tables_stays(home: Path) -> None:
    (home / "cpu.json").write_text(json.dumps(cpu()))
    page.main(home / "page.md", home)
    text = (home / "page.md").read_text()
    assert text.startswith("# Performance\n\nBefore.")
    assert text.endswith("After.\n")
    assert "old" not in text


def test_writing_the_page_twice_changes_nothing(home: Path) -> None:
    (home / "cpu.json").write_text(json.dumps(cpu()))
    (home / "gpu.json").write_text(json.dumps(GPU))
    page.main(home / "page.md", home)
    once = (home / "page.md").read_text()
    page.main(home / "page.md", home)
    assert (home / "page.md").read_text() == once


def test_a_result_that_is_not_there_has_no_section(home: Path) -> None:
    (home / "gpu.json").write_text(json.dumps(GPU))
    page.main(home / "page.md", home)
    text = (home / "page.md").read_text()
    assert "## On a GPU" in text
    assert "## On a processor" not in text


def test_ratios_and_sizes_are_shown_with_their_spread() -> None:
    text = page.cpu_section(cpu())
    assert "| round vs small-text | 3.2 (3.1–3.4) |" in text
    assert "| 1,000,000 | 100 | 100 |" in text
    assert text.index("| 1,000 |") < text.index("| 1,000,000 |")


def test_signals_are_shown_where_they_were_measured() -> None:
    result = cpu()
    assert "What a signal costs" not in page.cpu_section(result)
    result["figures"] += [figure("signals/tweets/train", "s", [12.5]), figure("signals/tweets/alpha", "%", [2.0, 3.0])]
    text = page.cpu_section(result)
    assert "(12.5 s on tweets)" in text
    assert "| alpha | 2.5 (2–3) |" in text
    assert "| train |" not in text.partition("What a signal costs")[2]


def test_every_figure_of_the_gpu_is_a_row() -> None:
    text = page.gpu_section(GPU)
    assert "| graphs, 64 tokens | 123 (120–125) | steps/s |" in text
    assert "| `steps_vs_plain` | 5.43 |" in text
    assert "gpu a fast one" in text


def test_a_page_without_markers_is_refused(home: Path) -> None:
    (home / "page.md").write_text("# Performance\n")
    with pytest.raises(UserError, match="needs the lines"):
        page.main(home / "page.md", home)
    assert (home / "page.md").read_text() == "# Performance\n"


def test_all_rows_of_a_table_are_as_wide_as_its_head() -> None:
    blocks = page.cpu_section(cpu()).split("\n\n")
    tables = [block.strip().splitlines() for block in blocks if block.startswith("|")]
    assert len(tables) == 5
    for table in tables:
        assert len({line.count("|") for line in table}) == 1
