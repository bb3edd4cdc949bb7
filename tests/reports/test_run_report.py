"""The pages as a reader finds them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hybridal.core.rounds import Metrics, Round
from hybridal.measures.advice import Advice, advise
from hybridal.reports.report_page import render
from hybridal.reports.run_report import comparison_page, run_page, write_comparison, write_report
from hybridal.runs.about_file import write_about
from hybridal.runs.record import RunFolder
from hybridal.schedules import make_schedule

from .made_up_rounds import ABOUT, SPECS, histories_of, history_of, without_measures
from .page_reader import PageReader, Read, read_page

HOSTILE = "<script>alert('x')</script>\"><img src=https://evil.example/x onerror=alert(1)> $x$ {{ 7 * 7 }}"


def run_folder(path: Path, history: tuple[Round, ...], about: dict[str, Any] = ABOUT) -> RunFolder:
    write_about(path / "run.json", about)
    folder = RunFolder.open(path)
    for record in history:
        folder.append(record)
    return folder


def compared(path: Path, *specs: str) -> str:
    schedules = [make_schedule(spec) for spec in specs]
    return write_comparison(histories_of(*specs), schedules, ABOUT, path / "c.html").read_text(encoding="utf-8")


def columns(rows: list[list[Read]]) -> dict[str, list[Read]]:
    heads, *body = rows
    return {head.text: [row[at] for row in body] for at, head in enumerate(heads)}


def check_self_contained(page: PageReader, html: str) -> None:
    assert page.loaded == []
    assert page.handlers == []
    assert not {"script", "img", "iframe", "link", "object", "embed", "form"} & set(page.tags)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.pointed) <= set(page.ids)
    assert "default-src 'none'" in html


@pytest.fixture(scope="module")
def run_html(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = run_folder(tmp_path_factory.mktemp("run"), history_of("hybrid:accuracy"))
    assert write_report(folder) == folder.report
    return folder.report.read_text(encoding="utf-8")


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing, which is slow, in tests of texts."""
    monkeypatch.setattr("hybridal.reports.run_report.panels", lambda *_: [])


@pytest.fixture(scope="module")
def comparison_html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compared(tmp_path_factory.mktemp("comparison"), *SPECS)


def test_run_report_is_self_contained(run_html: str) -> None:
    check_self_contained(read_page(run_html), run_html)


def test_comparison_report_is_self_contained(comparison_html: str) -> None:
    check_self_contained(read_page(comparison_html), comparison_html)


def test_the_table_of_rounds_holds_the_exact_facts(run_html: str) -> None:
    history, found = history_of("hybrid:accuracy"), columns(read_page(run_html).tables["table-1"])
    assert [float(cell.value or "nan") for cell in found["NLL scaled"]] == [
        record.validation.nll_scaled for record in history if record.validation
    ]
    assert [cell.text for cell in found["NLL"]] == [
        f"{record.validation.nll:.3f}" for record in history if record.validation
    ]
    assert [int(cell.value or 0) for cell in found["Tokens"]] == [record.cost.tokens for record in history]
    assert [cell.text for cell in found["Update"]] == ["Retrain"] * 7 + ["FineTune"] * 3
    assert ["stable" in cell.kinds for cell in found["Δ accuracy"]] == [
        (change := record.changes["accuracy"]) is not None and change < 0.005 for record in history
    ]


def test_the_story_and_the_cost_come_first_and_agree_with_the_facts(run_html: str) -> None:
    page = read_page(run_html)
    assert "10 rounds, 192 labels." in page.texts["story"]
    assert "(rounds 6 and 7), so from round 8 on" in page.texts["story"]
    assert f"{sum(record.cost.steps for record in history_of('hybrid:accuracy'))} optimiser steps" in page.texts["cost"]
    assert run_html.index('id="story"') < run_html.index("<figure")


def test_figures_have_headings_readings_and_words(run_html: str) -> None:
    page = read_page(run_html)
    assert page.tags.count("figure") == page.tags.count("figcaption") == page.tags.count("svg") == 8
    assert all(len(label) > 20 for label in page.labels)
    assert any("settled in round 7" in label for label in page.labels)
    assert [tag for tag in page.tags if tag in ("h1", "h2", "h3")][:3] == ["h1", "h2", "h3"]


def test_settings_are_listed(run_html: str) -> None:
    words = read_page(run_html).texts["setup"]
    for value in ("minilm", "quick", "2.9.0", "x86_64", "2025-01-02T03:04:05+00:00", "comp.graphics, sci.space"):
        assert value in words


def test_chosen_ids_are_listed(run_html: str) -> None:
    rows = read_page(run_html).tables["chosen"]
    assert [row[1].text for row in rows[1:]] == [", ".join(f.acquired) for f in history_of("retrain") if f.acquired]


def test_the_comparison_holds_the_exact_facts(comparison_html: str) -> None:
    page, histories = read_page(comparison_html), histories_of(*SPECS)
    found = columns(page.tables["table-front-1"])
    last = [history[-1] for history in histories.values()]
    assert [float(cell.value or "nan") for cell in found["Macro-F1"]] == [
        record.test.f1 for record in last if record.test
    ]
    assert [cell.hint for cell in found["Schedule"]] == list(histories)
    assert [cell.text for cell in found["t*"]] == ["–", "–", "–", "7", "6"]
    assert [cell.text for cell in found["Updates"]] == ["R×10", "F×10", "R×3 F×7", "R×7 F×3", "R×6 F×4"]
    best = [cell.text for cell in found["Steps"] if "best" in cell.kinds]
    assert best == [f"{min(sum(record.cost.steps for record in history) for history in histories.values()):,}"]
    distinct = len({record.update_sequence for history in histories.values() for record in history})
    assert f"50 rounds, of which {distinct} are distinct" in page.texts["cost"]
    assert f"a sharing factor of {50 / distinct:.2f}" in page.texts["cost"]
    assert len(page.tables) == 1 + len(SPECS)


def test_the_same_facts_give_the_same_bytes(run_html: str, comparison_html: str, tmp_path: Path) -> None:
    assert write_report(run_folder(tmp_path, history_of("hybrid:accuracy"))).read_text(encoding="utf-8") == run_html
    assert compared(tmp_path, *SPECS) == comparison_html


def auto_history(disagreement: float | None = 0.1) -> tuple[Round, ...]:
    """A run of `auto` that retrained in rounds 1 and 6, and had too few labels to train on in round 1."""
    reasons = {1: "the encoder is untrained", 2: "the encoder is untrained", 6: "1 new class"}
    return tuple(
        replace(
            record,
            update="retrain" if record.round in reasons else "replay:equal:balanced",
            reason=reasons.get(record.round, ""),
            kept_epoch=1.5,
            changes={"agreement": disagreement, "drift": 0.5 * (record.round % 3)} if record.round > 1 else {},
        )
        for record in history_of("retrain")
    )


def auto_about(rounds: int, stop: str) -> dict[str, Any]:
    return {
        **ABOUT,
        "settings": {**ABOUT["settings"], "schedule": "auto", "stop": stop},
        "protocol": {**ABOUT["protocol"], "rounds": rounds, "probe_until": 60},
    }


def test_an_automatic_runs_report_says_why_it_retrained_and_what_more_labels_bring(tmp_path: Path) -> None:
    history = auto_history()
    html = write_report(run_folder(tmp_path, history, auto_about(10, "never"))).read_text(encoding="utf-8")
    page = read_page(html)
    check_self_contained(page, html)
    story = page.texts["story"]
    assert "<title>Auto on newsgroups</title>" in html
    assert "In round 1 there were too few labels to train on" in story
    assert "In round 2 (the encoder is untrained) and round 6 (1 new class) the model was retrained" in story
    assert "In the other rounds the model went on from the weights of the round before" in story
    assert story.endswith(advise(history, 2).sentence)
    updates = [cell.text for cell in columns(page.tables["table-1"])["Update"]]
    assert updates[:3] == ["Retrain", "Retrain", "Replay equal balanced"]
    assert columns(page.tables["table-1"])["Epochs"][0].text == "5 (1.5)"
    words = " ".join(page.words)
    assert "What the schedule watched: drift" in words
    assert "It was only watched" not in words


@pytest.mark.usefixtures("no_figures")
def test_an_automatic_run_without_agreement_gets_no_advice() -> None:
    page = run_page(auto_history(None)[:1], make_schedule("auto"), auto_about(10, "never"))
    assert "The next" not in " ".join(page.story)


@pytest.mark.usefixtures("no_figures")
def test_the_tiles_show_no_macro_f1_that_cannot_be_known() -> None:
    few = Metrics(24, 18, 0.75, 0.73, 0.8, 0.2, 0.4, 0.7, 0.1, support=(1,) * 24 + (0,) * 40)
    history = [replace(record, validation=few, test=None) for record in history_of("retrain", 3)]
    page = run_page(history, make_schedule("retrain"), ABOUT)
    tiles = {title: (entry.text, note) for title, entry, note in page.tiles}
    assert tiles["Macro-F1"] == ("–", "too few labels to tell")
    assert tiles["Accuracy"] == ("0.750", "18 of 24; 0.55 to 0.88")
    assert "macro-F1: too few labels to tell" in " ".join(page.story)


@pytest.mark.usefixtures("no_figures")
def test_a_comparison_of_models_that_guess_names_no_winner() -> None:
    guess = Metrics(40, 20, 0.5, 0.333, 0.7, 0.1, 0.5, 0.7, 0.1, support=(20, 20))
    histories = {
        spec: [replace(record, validation=guess, test=None) for record in history_of(spec)]
        for spec in ("retrain", "finetune")
    }
    page = comparison_page(histories, [*map(make_schedule, histories)], ABOUT)
    told = " ".join(page.story)
    assert told.endswith("Not shown to be better than guessing the most frequent class: Retrain and FineTune.")
    assert "optimiser steps:" not in told


@pytest.mark.usefixtures("no_figures")
def test_a_schedule_that_guesses_wins_nothing() -> None:
    guess = Metrics(40, 20, 0.5, 0.333, 0.0, 0.1, 0.5, 0.7, 0.1, support=(20, 20))
    histories = {
        **{spec: history_of(spec) for spec in ("retrain", "hybrid:accuracy")},
        "finetune": [replace(record, validation=guess, test=None) for record in history_of("finetune")],
    }
    page = comparison_page(histories, [*map(make_schedule, histories)], ABOUT)
    told = " ".join(page.story)
    assert "Not shown to be better than guessing the most frequent class: FineTune." in told
    winners = told.partition("FineTune.")[2]
    assert "The lowest NLL" in winners
    assert "FineTune (" not in winners


@pytest.mark.usefixtures("no_figures")
def test_a_run_that_stopped_by_itself_is_not_called_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.measures.advice.advise", lambda *_: Advice(True, None, "You can stop."))
    for stop, first in (("auto", "The run ended by itself after 10 of 25 rounds"), ("never", "The run is not at its")):
        page = run_page(auto_history(), make_schedule("auto"), auto_about(25, stop))
        assert page.story[0].startswith(first)
        assert page.story[-1] == "You can stop."


def test_hostile_texts_are_only_texts(tmp_path: Path) -> None:
    about = {
        **ABOUT,
        "task": {"name": HOSTILE, "classes": [HOSTILE, "b"]},
        "settings": {**ABOUT["settings"], "schedule": "retrain"},
        HOSTILE: {HOSTILE: HOSTILE},
    }
    history = tuple(
        replace(
            record,
            acquired=(HOSTILE,),
            update=HOSTILE if record.round == 2 else record.update,
            changes={HOSTILE: 0.1 * record.round},
            seconds={HOSTILE: 1.0},
        )
        for record in history_of("retrain", 3)
    )
    html = write_report(run_folder(tmp_path, history, about)).read_text(encoding="utf-8")
    page = read_page(html)
    check_self_contained(page, html)
    assert "49" not in re.sub(r"[\d.]*\d49[\d.]*|[\d.]*49\d[\d.]*", "", page.texts["setup"])
    assert page.texts["setup"].count(HOSTILE) >= 4
    assert HOSTILE in page.tables["chosen"][1][1].text


def test_hostile_specs_are_only_texts(tmp_path: Path) -> None:
    histories = {"retrain": history_of("retrain"), HOSTILE: history_of("fixed:4")}
    html = write_comparison(histories, [], {}, tmp_path / "c.html").read_text(encoding="utf-8")
    page = read_page(html)
    check_self_contained(page, html)
    assert HOSTILE in columns(page.tables["table-front-1"])["Schedule"][1].text


@pytest.mark.parametrize(
    ("spec", "rounds", "known"),
    [
        ("hybrid:accuracy", 0, True),
        ("hybrid:accuracy", 1, False),
        ("hybrid:accuracy", 2, True),
        ("finetune", 1, True),
        ("finetune", 2, False),
    ],
)
def test_report_works_with_minimal_records(spec: str, rounds: int, known: bool) -> None:
    history = history_of(spec)[:rounds]
    html = render(run_page(history if known else without_measures(history), make_schedule(spec), ABOUT))
    page = read_page(html)
    check_self_contained(page, html)
    assert not re.search(r"\bNone\b|\bnan\b", " ".join(page.words))
    assert ("not at its end" if rounds else "No round is complete yet") in page.texts["story"]
    assert page.tags.count("figure") == (0 if not rounds else page.tags.count("svg"))
    assert ("table-1" in page.tables) == bool(rounds)


def test_comparison_without_rounds_has_a_page(tmp_path: Path) -> None:
    schedules = [make_schedule(spec) for spec in SPECS]
    empty: dict[str, tuple[Round, ...]] = {schedule.spec: () for schedule in schedules}
    html = write_comparison(empty, schedules, {}, tmp_path / "c.html").read_text(encoding="utf-8")
    check_self_contained(read_page(html), html)
    assert "nothing to compare so far" in read_page(html).texts["story"]


@pytest.mark.usefixtures("no_figures")
def test_unequal_progress_is_noted(tmp_path: Path) -> None:
    histories = histories_of("retrain", "finetune")
    histories["finetune"] = histories["finetune"][:3]
    html = write_comparison(histories, [], ABOUT, tmp_path / "c.html").read_text(encoding="utf-8")
    words = " ".join(read_page(html).words)
    assert "fewer rounds than others" in words
    assert "on the validation texts" in words


@pytest.mark.usefixtures("no_figures")
def test_a_failed_report_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = run_folder(tmp_path, history_of("retrain", 1), {**ABOUT, "settings": {"schedule": "retrain"}})
    folder.report.write_text("old", encoding="utf-8")

    def fails(*_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("hybridal.reports.run_report.render", fails)
    with pytest.raises(RuntimeError):
        write_report(folder)
    assert folder.report.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "rounds.jsonl", "run.json"]
