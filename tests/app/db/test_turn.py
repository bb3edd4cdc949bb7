from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

from hybridal.app.db.turn import Turn


def until(true: Callable[[], bool]) -> None:
    """Waits; a test that waits for ever has failed."""
    while not true():
        time.sleep(0.001)


def test_those_who_wait_come_in_the_order_in_which_they_came_also_before_who_asks_again(tmp_path: Path) -> None:
    turn = Turn(tmp_path / "turn")
    came: list[str] = []

    def work(name: str) -> None:
        turn.take()
        came.append(name)
        turn.give()

    turn.take()
    waiting = []
    for name in "abcde":
        last = turn._last
        waiting.append(threading.Thread(target=work, args=(name,)))
        waiting[-1].start()
        until(lambda last=last: turn._last is not last)  # type: ignore[misc]
    turn.give()
    work("again")
    for thread in waiting:
        thread.join()
    assert came == [*"abcde", "again"]


def hold(file: Path, has: Event, may_end: Event) -> None:
    Turn(file).take()
    has.set()
    may_end.wait()


def test_another_process_waits_too_and_its_death_is_the_end_of_its_turn(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    has, may_end = fork.Event(), fork.Event()
    other = fork.Process(target=hold, args=(tmp_path / "turn", has, may_end))
    other.start()
    has.wait()
    turn, came = Turn(tmp_path / "turn"), threading.Event()

    def wait() -> None:
        turn.take()
        came.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not came.wait(0.05)
    other.kill()
    thread.join()
    assert came.is_set()
    turn.give()
    other.join()


def test_where_no_file_can_be_made_threads_still_take_turns(tmp_path: Path) -> None:
    turn = Turn(tmp_path / "nowhere" / "turn")
    for _ in range(2):
        turn.take()
        turn.give()
