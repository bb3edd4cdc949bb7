from __future__ import annotations

import io
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from hybridal.cli import screen
from hybridal.cli.screen import COLUMNS, Quiet, Screen, observer_of, table_row, wide_console
from hybridal.core.rounds import Metrics
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule

from .made_up import EnoughLabels, ReplaysOnceSettled, history_of, with_several_labels

HYBRID = make_schedule("hybrid:accuracy:0.05:2")
SETTLED = history_of("RRRF", [None, 0.01, 0.02, 0.5])


def file_and_screen(terminal: bool, spec: str = "hybrid:accuracy:0.05:2") -> tuple[io.StringIO, Screen]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100 if terminal else 40, color_system=None)
    return file, Screen(make_schedule(spec), console)


class TestRow:
    def test_the_first_round_has_no_change(self) -> None:
        expected = ["1", "retrain", "12", "2", "0.550", "0.34–0.74", "0.250", "0.500", "–", "–", "0/2", "1.2"]
        assert table_row(SETTLED[:1], HYBRID) == expected
        assert len(expected) == len(COLUMNS)

    def test_with_several_labels_exact_matches_are_called_so(self) -> None:
        history = with_several_labels(SETTLED[:1])
        assert table_row(history, HYBRID)[4:8] == ["0.350", "0.24–0.48", "0.600", "0.400"]
        file, shown = file_and_screen(terminal=False)
        shown.round_done(history)
        heads, row = file.getvalue().splitlines()
        assert heads.split()[4:8] == ["exact", "95%", "F1", "NLL"]
        assert row.split()[4] == "0.350"
        assert [column.header for column in shown.table.columns][4] == "exact"

    def test_accuracy_on_test_texts_is_shown_in_rounds_that_measured_it(self) -> None:
        tested = replace(SETTLED[0], test=Metrics(400, 300, 0.75, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1))
        assert table_row([tested], HYBRID)[8] == "0.750"

    def test_a_streak_grows_and_breaks(self) -> None:
        history = history_of("RRRR", [None, 0.01, 0.05, 0.0])
        assert [table_row(history[:t], HYBRID)[9:11] for t in (2, 3, 4)] == [
            ["0.01", "1/2"],
            ["0.05", "0/2"],
            ["0", "1/2"],
        ]

    def test_the_switch_stays_named(self) -> None:
        assert [table_row(SETTLED[:t], HYBRID)[9:11] for t in (3, 4)] == [["0.02", "t*=3"], ["0.5", "t*=3"]]
        assert table_row(SETTLED, HYBRID)[1] == "finetune"

    @pytest.mark.parametrize("spec", ["retrain", "fixed:4", "auto"])
    def test_other_schedules_have_no_threshold(self, spec: str) -> None:
        assert table_row(SETTLED, make_schedule(spec))[9:11] == ["–", "–"]

    def test_switch_of_a_users_own_schedule_is_shown(self) -> None:
        schedule = make_schedule(EnoughLabels(20).spec)
        assert [table_row(SETTLED[:t], schedule)[10] for t in (2, 3, 4)] == ["–", "t*=3", "t*=3"]
        ruled = make_schedule(ReplaysOnceSettled.spec)
        assert [table_row(SETTLED[:t], ruled)[9:11] for t in (2, 3, 4)] == [
            ["0.01", "1/2"],
            ["0.02", "t*=3"],
            ["0.5", "t*=3"],
        ]

    def test_a_macro_f1_that_cannot_be_known_is_a_dash(self) -> None:
        few = Metrics(8, 8, 1.0, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0))
        row = table_row([replace(SETTLED[0], validation=few)], HYBRID)
        assert row[4:7] == ["1.000", "0.68–1.00", "–"]

    def test_without_validation_there_are_no_scores(self) -> None:
        bare = [replace(SETTLED[0], validation=None)]
        assert table_row(bare, HYBRID)[4:8] == ["–"] * 4


class TestTerminal:
    def test_a_table_grows_over_a_bar(self) -> None:
        file, shown = file_and_screen(terminal=True)
        with shown.live:
            shown.message("Run folder: [red]x[/red]")
            shown.round_started(1, 4, "retrain")
            shown.epoch_done(1, 2)
            shown.live.refresh()
            assert "round 1 of 4: retrain" in file.getvalue()
            assert "50%" in file.getvalue()
            for t in (1, 2, 3, 4):
                shown.round_done(SETTLED[:t])
            shown.waiting(3, 10, Path("to_label.csv"))
            shown.live.refresh()
        text = file.getvalue()
        assert "Run folder: [red]x[/red]" in text
        assert "waiting for labels in to_label.csv" in text
        assert "30%" in text
        last = text[text.rindex("round  ") :]
        assert [line.split()[:2] for line in last.splitlines()[1:5]] == [
            ["1", "retrain"],
            ["2", "retrain"],
            ["3", "retrain"],
            ["4", "finetune"],
        ]

    def test_the_bar_counts_texts_while_they_are_read_or_scored(self) -> None:
        _, shown = file_and_screen(terminal=True)
        (bar,) = shown.progress.tasks
        shown.texts_done("tokenising", 5, 20)
        assert (bar.description, bar.percentage) == ("preparing: tokenising texts", 25)
        shown.round_started(2, 4, "finetune")
        shown.texts_done("scoring", 10, 20)
        assert (bar.description, bar.percentage) == ("round 2 of 4: scoring texts", 50)
        shown.probe_fitted(1, 4)
        assert (bar.description, bar.percentage) == ("round 2 of 4: fitting the probe", 25)
        shown.epoch_done(1, 2)
        assert (bar.description, bar.percentage) == ("round 2 of 4: finetune", 50)


class TestLog:
    def test_a_line_a_round_under_one_header(self) -> None:
        file, shown = file_and_screen(terminal=False)
        shown.message("Run folder: " + "x" * 90)
        for t in (1, 2, 3, 4):
            shown.round_started(t, 4, "retrain")
            shown.epoch_done(1, 2)
            shown.round_done(SETTLED[:t])
        lines = file.getvalue().splitlines()
        assert lines[0] == "Run folder: " + "x" * 90, "a path was broken"
        assert lines[1].split() == list(COLUMNS)
        assert [line.split()[0] for line in lines[2:]] == ["1", "2", "3", "4"]
        assert {len(line) for line in lines[1:]} == {len(lines[1])}, "the columns are not aligned"
        assert lines[4].split()[-3:] == ["0.02", "t*=3", "1.2"]

    def test_long_updates_leave_the_columns_aligned(self) -> None:
        file, shown = file_and_screen(terminal=False, spec="auto")
        for record in (SETTLED[0], replace(SETTLED[1], update="replay:equal:balanced")):
            shown.round_done([record])
        lines = file.getvalue().splitlines()
        assert lines[2].split()[1] == "replay:equal:balanced"
        assert len({len(line) for line in lines}) == 1

    def test_waiting_for_labels_is_printed_at_the_start_and_at_new_labels(self) -> None:
        file, screen = file_and_screen(terminal=False)
        for labelled in (0, 0, 3, 3):
            screen.waiting(labelled, 4, Path("run/to_label.csv"))
        screen.round_started(2, 3, "retrain")
        screen.waiting(3, 4, Path("run/to_label.csv"))
        lines = [f"Waiting for labels in run/to_label.csv: {labelled} of 4 are there." for labelled in (0, 3, 3)]
        assert file.getvalue().splitlines() == lines

    def test_a_resumed_run_gets_its_header_too(self) -> None:
        file, shown = file_and_screen(terminal=False)
        shown.round_done(SETTLED[:3])
        assert file.getvalue().splitlines()[0].split() == list(COLUMNS)

    def test_comparison_gets_a_header(self) -> None:
        file, shown = file_and_screen(terminal=False, spec="retrain")
        for record in SETTLED:
            shown.round_done([record])
        assert file.getvalue().count("accuracy") == 1
        assert len(file.getvalue().splitlines()) == 5


class TestFollow:
    SETTINGS = Settings("toy", schedule="hybrid:accuracy")

    def test_silent_observer_prints_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        with observer_of(self.SETTINGS, silent=True) as observer:
            assert type(observer) is Quiet
            observer.message("hush")
        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize("silent", [True, False])
    def test_a_report_is_prepared_once_there_is_a_round(self, silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """A module that cannot be imported early is skipped without a message, so a renamed file would go unnoticed."""
        asked: list[str] = []
        monkeypatch.setattr(screen, "import_later", asked.extend)
        with observer_of(self.SETTINGS, silent) as observer:
            observer.round_started(1, 4, "retrain")
            assert not asked
            observer.round_done(SETTLED[:1])
        assert asked
        assert all(map(find_spec, asked))

    def test_a_file_gets_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        with observer_of(self.SETTINGS, silent=False) as observer:
            observer.message("hello")
        assert capsys.readouterr().out == "hello\n"

    def test_a_terminal_gets_a_table_and_at_the_end_no_bar(self, monkeypatch: pytest.MonkeyPatch) -> None:
        file = io.StringIO()
        terminal = Console(file=file, force_terminal=True, width=100, color_system=None)
        monkeypatch.setattr(screen, "Console", lambda: terminal)
        with observer_of(self.SETTINGS, silent=False) as observer:
            observer.round_started(1, 4, "retrain")
            observer.round_done(SETTLED[:1])
        final = file.getvalue()[file.getvalue().rindex("round  ") :]
        assert "retrain" in final
        assert "round 1 of 4" not in final

    def test_an_error_leaves_the_terminal_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        file = io.StringIO()
        monkeypatch.setattr(screen, "Console", lambda: Console(file=file, force_terminal=True, width=100))
        with pytest.raises(ZeroDivisionError), observer_of(self.SETTINGS, silent=False):
            raise ZeroDivisionError
        assert file.getvalue().endswith("\x1b[?25h"), "the cursor stays hidden"


def test_a_pipe_is_as_wide_as_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    wide_console().print("x" * 300)
    assert capsys.readouterr().out == "x" * 300 + "\n"
