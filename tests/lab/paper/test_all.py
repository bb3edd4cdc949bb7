"""What must hold for every table, whatever the study."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.lab.paper.tables import TABLES
from hybridal.lab.study.study_results import Results
from hybridal.reports.report_table import Table
from hybridal.reports.table_formats import to_csv, to_document, to_latex, to_markdown, write_tables

from ...reports.latex_reader import check, read
from ..reports.example import example, made_up_study
from .catalogue import all_tables

HOSTILE = ("we_ird & 100% #1/${x}^2~\\.csv", 'a|b*<c>[d] "q" `e`.csv')


def check_rendered(tables: dict[str, Table]) -> None:
    """All three forms can be read again, and the exact one gives the same numbers."""
    for table in tables.values():
        found = read(to_latex(table))
        rows = [row for section in found.sections.values() for row in section]
        assert len(rows) == len(list(table.rows()))
        lines = to_markdown(table).splitlines()
        bars = {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}
        assert bars == {len(table.columns) + 1}
        check_csv(table)


def check_csv(table: Table) -> None:
    head, *rows = csv.reader(io.StringIO(to_csv(table)))
    names = [name for column in table.columns for name in column.fields()]
    assert head == [*table.keys, *names]
    assert len(head) == len(set(head))
    keys = [section.keys for section in table.sections for _ in section.rows]
    for read_row, row, key in zip(rows, table.rows(), keys, strict=True):
        assert read_row[: len(key)] == list(key)
        fields = iter(read_row[len(key) :])
        for entry, column in zip(row, table.columns, strict=True):
            if not column.parts:
                assert next(fields) == entry.text
            for number in entry.numbers or (None,) * len(column.parts):
                text = next(fields)
                assert (float(text) == number) if text else number is None


def test_the_example_has_the_tables_of_the_paper(tables: dict[str, Table]) -> None:
    varied = {"pool-size", "batch-size", "subset-size", "validation-size", "early-stopping", "dropout", "samplers"}
    others = {"calibrated-acquisition", "variants", "tuning-grid", "tuning-choice", "regret"}
    assert set(tables) == set(TABLES) - varied - others
    assert all(table.name == name for name, table in tables.items())
    check_rendered(tables)


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    folder = made_up_study(tmp_path / "s", tasks=HOSTILE, backbones=("x_y/<z>&%",), rounds=3, seeds=(1, 2))
    tables = all_tables(folder)
    check_rendered(tables)
    found = read(to_latex(tables["endpoint-f1"]))
    assert list(found.sections) == ["x_y/<z>&%"]
    assert found.headings[2] == r"a\textbar{}b*\textless{}c\textgreater{}[d] \char34{}q\char34{} \char96{}e\char96{}"
    check(to_document(list(tables.values())))


def test_one_seed_has_no_spread_and_no_star(tmp_path: Path) -> None:
    folder = made_up_study(tmp_path / "s", seeds=(42,), rounds=4)
    tables = all_tables(folder)
    check_rendered(tables)
    first = read(to_latex(tables["endpoint-f1"])).sections["DistilBERT"][1]
    assert "±" not in first[1]
    assert "^" not in "".join(first)
    assert tables["endpoint-f1"].sections[0].rows[1][1].numbers[1:] == (None, 1, None)
    assert "one seed" in tables["endpoint-f1"].caption


def test_missing_cells_are_dashes(tmp_path: Path) -> None:
    two = ("retrain", "finetune")
    folder = made_up_study(tmp_path / "s", skip=[("agnews", 1), ("agnews", 2)], seeds=(1, 2), rounds=2, schedules=two)
    folder.journal(next(cell for cell in folder.cells if cell.settings.task == "imdb")).path.write_text("")
    table = all_tables(folder)["endpoint-f1"]
    assert [column.title for column in table.columns] == ["Method", "IMDb"]
    assert "one seed" in table.caption

    found = example()
    gone = (found.runs["task"] == "agnews") & (found.runs["schedule"] == "finetune")
    tables = {name: make(replace(found, runs=found.runs[~gone])) for name, make in TABLES.items()}
    check_rendered({name: table for name, table in tables.items() if table is not None})
    endpoint = tables["endpoint-f1"]
    assert endpoint is not None
    row = endpoint.sections[0].rows[1]
    assert [entry.text for entry in row[2:]] == ["–", "–"]  # no mean over other tasks than the others have


def test_study_without_runs_has_only_dataset_tables(tmp_path: Path) -> None:
    folder = made_up_study(tmp_path / "s", tasks=("imdb",), seeds=(1,), skip=[("imdb", 1)])
    assert list(all_tables(folder)) == ["dataset-sizes", "datasets"]


def test_no_datasets_where_the_texts_are_gone(tmp_path: Path) -> None:
    folder = made_up_study(tmp_path / "s", tasks=("imdb",), seeds=(1, 2), rounds=4)
    for file in (tmp_path / "s" / "tasks").rglob("*.*"):
        if file.is_file():
            file.unlink()
    assert not {"datasets", "dataset-sizes", "batch-classes"} & set(all_tables(folder))


def test_tables_that_need_retrain_or_a_signal_are_left_out(tmp_path: Path) -> None:
    folder = made_up_study(tmp_path / "s", schedules=("finetune", "newonly"), tasks=("imdb",), seeds=(1, 2), rounds=4)
    found = set(all_tables(folder))
    assert not {"savings", "switch-rounds", "post-switch", "signal-ablation", "batch-overlap"} & found
    assert {"endpoint-f1", "endpoint-cost", "temperature", "ece-by-round"} <= found


def test_untimed_runs_have_no_seconds(study: Results) -> None:
    runs = study.runs.assign(training_time=0.0, seconds=0.0)
    table = TABLES["endpoint-cost"](replace(study, runs=runs))
    assert table is not None
    assert not any("seconds" in section.title.lower() for section in table.sections)


def test_without_a_test_split_validation_is_reported(study: Results) -> None:
    runs = study.runs.copy()
    runs[[name for name in runs.columns if name.startswith("test_")]] = float("nan")
    table = TABLES["endpoint-f1"](replace(study, runs=runs))
    assert table is not None
    assert table.caption.startswith("Validation F1")
    mine = runs[(runs["task"] == "imdb") & (runs["schedule"] == "retrain")]["validation_f1"]
    assert table.sections[0].rows[0][1].numbers[0] == pytest.approx(mine.mean())


def test_two_runs_of_one_name_are_refused(study: Results) -> None:
    runs = study.runs.assign(seed=42)
    with pytest.raises(UserError, match="both called"):
        TABLES["endpoint-f1"](replace(study, runs=runs))


def test_tables_are_written_in_three_formats(tables: dict[str, Table], tmp_path: Path) -> None:
    written = write_tables(tables, tmp_path / "out")
    assert len(written) == 3 * len(tables) + 1
    check((tmp_path / "out" / "tables.tex").read_text())
