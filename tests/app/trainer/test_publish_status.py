from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete

from hybridal.app.db.schema import Trainer
from hybridal.app.project import Project
from hybridal.app.trainer import publish as module
from hybridal.app.trainer.publish import (
    MAX_ERROR,
    Status,
    clear_request,
    error_sentence,
    expected_seconds,
    write_status,
)
from hybridal.core.rounds import Cost, Round
from hybridal.errors import RunError, UserError

from ..copies import copied
from .projects import ask, made, row

FOLDER = Path("/home/ann/my texts/tickets.hybridal")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UserError("Backbone 'x' cannot be loaded."), "Backbone 'x' cannot be loaded."),
        (RunError(f"{FOLDER}/runs/001/checkpoint is damaged."), "runs/001/checkpoint is damaged."),
        (UserError(f"{FOLDER} is in use."), "tickets.hybridal is in use."),
        (OSError(2, "No file", "/home/ann/.cache/x.bin"), "FileNotFoundError: [Errno 2] No file: 'x.bin'"),
        (RuntimeError("CUDA error: out of memory\nat /usr/lib/a.so"), "RuntimeError: CUDA error: out of memory"),
        (ValueError("and/or 1/2 of http://x.org/a"), "ValueError: and/or 1/2 of http://x.org/a"),
        (ValueError(), "ValueError"),
        (KeyError("(/opt/a/b.py:12)"), "KeyError: '(b.py:12)'"),
    ],
)  # fmt: skip
def test_a_reason_is_one_line_without_folders_of_the_machine(error: Exception, sentence: str) -> None:
    assert error_sentence(error, FOLDER) == sentence


def test_a_long_reason_is_cut() -> None:
    assert len(error_sentence(ValueError("x" * 5000), FOLDER)) == MAX_ERROR


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("hybridal.app.trainer.publish.time.monotonic", lambda: self.now)


def test_a_row_is_made_where_there_is_none(project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(delete(Trainer))
    with project.sessions.begin() as session:
        write_status(session, phase="loading")
    assert row(project).phase == "loading"
    assert row(project).heartbeat > 0


def test_a_phase_begins_without_the_numbers_of_the_last(project: Project) -> None:
    status = Status(project.sessions)
    status.say("training", update="retrain", round=3, total=6, seconds_left=9.0)
    assert (row(project).total, row(project).seconds_left, row(project).update) == (6, 9.0, "retrain")
    status.say("scoring")
    shown = row(project)
    assert (shown.phase, shown.done, shown.total, shown.seconds_left, shown.round) == ("scoring", 0, 0, None, 3)


def test_the_update_is_announced_by_the_learner_that_performs_it(project: Project) -> None:
    status = Status(project.sessions)
    status.say("training", update="", round=3)
    status.round_started(3, None, "retrain")
    assert (row(project).phase, row(project).update, row(project).round) == ("training", "retrain", 3)


def test_progress_is_published_at_intervals_with_the_time_left(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    status = Status(project.sessions)
    status.say("training", total=5)
    clock.now += 0.4
    status.epoch_done(1, 5)
    assert row(project).done == 0
    clock.now += 5.6
    status.epoch_done(2, 5)
    assert (row(project).step, row(project).done, row(project).total) == ("epochs", 2, 5)
    assert row(project).seconds_left == pytest.approx(9.0)


def test_the_time_left_counts_from_the_beginning_of_a_step(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    status = Status(project.sessions)
    status.say("training")
    clock.now += 60
    status.texts_done("encoding", 900, 900)
    assert (row(project).step, row(project).done) == ("texts", 900)
    clock.now += 2
    status.probe_fitted(1, 4)
    assert (row(project).step, row(project).done) == ("fits", 1)
    assert row(project).seconds_left == pytest.approx(6.0)


def test_texts_that_are_read_between_updates_are_no_progress(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    status = Status(project.sessions)
    status.say("waiting", done=3, total=8)
    clock.now += 2
    status.texts_done("encoding", 64, 900)
    assert (row(project).step, row(project).done, row(project).total) == ("", 3, 8)


def test_a_sign_of_life_comes_only_after_silence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(module, "now", lambda: clock.now)
    status = Status(project.sessions)
    status.say("waiting")
    clock.now += 4
    status.beat(5.0)
    assert row(project).heartbeat == 100
    clock.now += 2
    status.beat(5.0)
    assert (row(project).heartbeat, row(project).phase) == (106, "waiting")


def test_a_request_made_meanwhile_is_kept(project: Project) -> None:
    ask(project, "finish")
    for handled, left in (("train", "finish"), ("finish", "")):
        with project.sessions.begin() as session:
            clear_request(session, handled)
        assert row(project).request == left


def test_a_database_that_does_not_listen_is_only_noted(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    with project.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE trainer")
    Status(project.sessions).say("training")
    assert "did not take the status" in caplog.text


def test_last_round_predicts_the_duration_of_the_next() -> None:
    none: dict[str, float] = {}
    last = Round(
        1, "retrain", "R", 10, Cost(examples=40), 3, 1.0, None, None, {}, (), (), {"train": 7.0, "validate": 1.0}
    )
    assert expected_seconds([], 120) is None
    assert expected_seconds([last], 120) == pytest.approx(8.0 / 40 * 120)
    skipped = Round(1, "newonly", "N", 10, Cost(), 0, 1.0, None, None, {}, (), (), none)
    assert expected_seconds([last, skipped], 120) is None
