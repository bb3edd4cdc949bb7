from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hybridal.lab.reports.comparable import comparable
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_presets import preset
from hybridal.reports.figure_style import Drawn, save

from ...reports.studies import write_cell, write_task
from ..catalogue import all_figures
from .conftest import Made, Maker, without_metrics
from .reading import texts

MAIN = ["radar", "f1-violins", "f1-by-round", "pareto-steps", "pareto-seconds", "pareto-f1", "nll-by-round",
        "switch-tradeoff", "control-alpha", "control-accuracy", "streaks", "signal-correlation",
        "signal-profiles"]  # fmt: skip
HOSTILE = ("$x^2$ & <b>'\"", "a\nb\x07c\x1b[31m", "long " * 20 + ".csv", "long " * 20 + "2.csv", "_{")


@pytest.fixture(scope="module")
def figures(small: Made) -> dict[str, Drawn]:
    return all_figures(small.folder)


@pytest.fixture(scope="module")
def hostile(make: Maker) -> dict[str, Drawn]:
    schedules = ("retrain", "finetune", "hybrid:alpha:0.0002:2", "hybrid:accuracy:0.01:2", "fixed:3")
    study = Study("h", HOSTILE, schedules, backbones=("bert", "$b_1$"), seeds=(1,), overrides={"rounds": 4})
    return all_figures(make(study).folder)


def test_each_study_has_the_figures_that_it_has_data_for(make: Maker) -> None:
    few = {"seeds": (1, 2, 3), "backbones": ("bert",), "tasks": ("imdb", "yahoo", "sst2"), "rounds": 6}
    main = all_figures(make(preset("main").shrunk(**few)).folder)
    assert list(main) == MAIN
    points = make(preset("switch-points", rounds=3).shrunk(tasks=("imdb",), seeds=(1,)))
    assert "regret" in all_figures(points.folder)
    varied = make(preset("pool-size").shrunk(tasks=("imdb",), seeds=(1,), rounds=3))
    assert list(all_figures(varied.folder)) == ["sensitivity"]
    grid = make(preset("tuning").shrunk(tasks=("imdb",), seeds=(1,), rounds=4))
    assert list(all_figures(grid.folder)) == ["tuning-alpha", "tuning-accuracy"]


def test_the_smallest_study_has_figures_as_wide_as_a_column(figures: dict[str, Drawn]) -> None:
    assert list(figures) == [name for name in MAIN if name != "radar"]
    assert {drawn.figure.get_size_inches()[0] for drawn in figures.values()} == {4.2}


def test_alt_texts_are_sentences(figures: dict[str, Drawn]) -> None:
    for drawn in figures.values():
        assert drawn.heading
        assert not drawn.heading.endswith(".")
        for text in (drawn.reading, drawn.alt):
            assert text.endswith(".")
            assert "nan" not in text.lower().split()
            assert "None" not in text


def test_studies_without_measures_have_no_figures_of_them(make: Maker) -> None:
    study = preset("main").shrunk(seeds=(1,), backbones=("bert",), tasks=("imdb", "yahoo", "sst2"), rounds=5)
    made = make(study, without_metrics)
    names = ["control-alpha", "control-accuracy", "streaks", "signal-correlation"]
    assert list(all_figures(made.folder)) == names
    bare = make(study.shrunk(schedules=("retrain", "finetune")), lambda record: replace(record, changes={}))
    found = all_figures(bare.folder)
    assert [name for name in found if name.startswith(("control", "streak", "signal", "switch"))] == []


def test_validation_serves_where_there_is_no_test(make: Maker) -> None:
    study = preset("main").shrunk(seeds=(1,), backbones=("bert",), tasks=("imdb", "yahoo", "sst2"), rounds=4)
    made = make(study, lambda record: replace(record, test=None))
    found = all_figures(made.folder)
    assert "validation NLL" in texts(found["pareto-steps"].figure)
    assert "validation macro-F1" in texts(found["f1-violins"].figure)


def test_only_cells_with_every_schedule_are_compared(tmp_path: Path) -> None:
    study = Study("part", ("imdb",), ("retrain", "finetune"), seeds=(1, 2, 3), overrides={"rounds": 3})
    folder = StudyFolder.create(tmp_path / "study", study, {})
    for cell, specs in zip(folder.cells, (["retrain", "finetune"], ["finetune"], []), strict=True):
        write_task(folder, cell)
        write_cell(folder, cell, specs)
    from hybridal.lab.study.study_results import results

    found = results(folder)
    assert len(found.runs) == 3
    fair = comparable(found)
    assert fair is not None
    assert fair.runs["seed"].tolist() == [1, 1]
    assert set(fair.rounds["seed"]) == {1}


def test_settings_are_never_mixed(subset_size: Made) -> None:
    assert comparable(subset_size.results) is None


def test_nothing_complete_makes_no_figures(tmp_path: Path) -> None:
    folder = StudyFolder.create(tmp_path / "study", preset("main"), {})
    assert all_figures(folder) == {}


def test_figures_do_not_change_their_tables(small: Made) -> None:
    before = replace(small.results, runs=small.results.runs.copy(), rounds=small.results.rounds.copy())
    comparable(small.results)
    assert before.runs.equals(small.results.runs)
    assert before.rounds.equals(small.results.rounds)


def test_files_are_valid_and_the_same_again(figures: dict[str, Drawn], small: Made, tmp_path: Path) -> None:
    first, second = figures, all_figures(small.folder)
    files = save(first, tmp_path / "a", ("svg",))
    save(second, tmp_path / "b", ("svg",))
    # The other two formats take longer; this figure has bars, lines, texts and a scale of colours.
    one = {"switch-tradeoff": first["switch-tradeoff"]}, {"switch-tradeoff": second["switch-tradeoff"]}
    usual = save(one[0], tmp_path / "a")
    assert [path.name for path in usual] == [f"switch-tradeoff.{format}" for format in ("svg", "png", "pdf")]
    save(one[1], tmp_path / "b")
    files += usual[1:]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(path.name for path in files)
    for path in files:
        data = path.read_bytes()
        assert data == (tmp_path / "b" / path.name).read_bytes()
        assert len(data) > 4000
        if path.suffix == ".svg":
            root = ElementTree.fromstring(data)
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert b"var(--" not in data
            assert b"<image" not in data
        elif path.suffix == ".png":
            assert data[:8] == b"\x89PNG\r\n\x1a\n"
        else:
            assert data[:5] == b"%PDF-"
            assert b"CreationDate" not in data
            assert b"ModDate" not in data


def test_svg_has_the_alt_text(figures: dict[str, Drawn], tmp_path: Path) -> None:
    save({"f1-by-round": figures["f1-by-round"]}, tmp_path, ("svg",))
    root = ElementTree.fromstring((tmp_path / "f1-by-round.svg").read_bytes())
    assert root.attrib["aria-label"] == figures["f1-by-round"].alt
    assert "Binary task: validation macro-F1" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_failed_write_leaves_no_file(
    figures: dict[str, Drawn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = figures["streaks"]
    save({"streaks": drawn}, tmp_path, ("svg",))
    before = (tmp_path / "streaks.svg").read_bytes()

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("hybridal.system.files.sync", fail)
    with pytest.raises(OSError, match="disk full"):
        save({"streaks": replace(drawn, alt="another")}, tmp_path, ("svg",))
    assert [path.name for path in tmp_path.iterdir()] == ["streaks.svg"]
    assert (tmp_path / "streaks.svg").read_bytes() == before


def test_hostile_names_stay_names(hostile: dict[str, Drawn], tmp_path: Path) -> None:
    assert list(hostile) == MAIN
    for path in save(hostile, tmp_path, ("svg",)):
        ElementTree.fromstring(path.read_bytes())
    save({"radar": hostile["radar"]}, tmp_path, ("pdf",))
    shown = texts(hostile["radar"].figure)
    assert "$x^2$ & <b>'\"" in shown
    assert {"a b c [31m", "_{"} <= set(shown)
    alike = [text for text in shown if text.startswith("long")]
    assert len(set(alike)) == 2
    assert max(map(len, shown)) < 40
    assert "$b_1$" in texts(hostile["pareto-steps"].figure)
    assert not [c for drawn in hostile.values() for c in drawn.alt if not c.isprintable()]


def test_no_text_is_cut_off_at_the_edge(figures: dict[str, Drawn]) -> None:
    for name, drawn in figures.items():
        drawn.figure.draw_without_rendering()
        whole = drawn.figure.bbox.padded(1.5)
        for axes in drawn.figure.axes:
            for text in (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label):  # type: ignore[attr-defined]
                box = text.get_window_extent()
                inside = whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
                assert not text.get_text() or inside, (name, text.get_text())
