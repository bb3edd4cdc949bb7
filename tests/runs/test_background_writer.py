from __future__ import annotations

import signal
import sys
import threading
from threading import Event
from traceback import walk_stack

import pytest

from hybridal.runs.background_writer import BackgroundWriter

from ..helpers.waiting import wait_until


def fail() -> None:
    raise OSError("no room")


def test_submitted_work_runs_in_the_background_and_ends_with_the_block() -> None:
    go_on, written = Event(), list[str]()

    def slowly() -> None:
        assert go_on.wait(60)
        written.append("one")

    with BackgroundWriter() as writer:
        writer.submit(slowly)
        assert not written
        go_on.set()
        writer.submit(lambda: written.append("two"))
        assert written[:1] == ["one"]
    assert written == ["one", "two"]


def test_write_error_is_raised_at_the_next_submit() -> None:
    writer, written = BackgroundWriter(), list[str]()
    writer.submit(fail)
    with pytest.raises(OSError, match="no room"):
        writer.submit(lambda: written.append("two"))
    assert not written


def test_write_error_is_raised_at_the_end() -> None:
    with pytest.raises(OSError, match="no room"), BackgroundWriter() as writer:
        writer.submit(fail)


def test_running_write_is_finished_when_the_run_fails() -> None:
    written = list[str]()

    def broken_off() -> None:
        with BackgroundWriter() as writer:
            writer.submit(lambda: written.append("one"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert written == ["one"]


@pytest.mark.parametrize("before", [KeyboardInterrupt, None])
def test_ctrl_c_during_the_wait_keeps_the_lock_until_the_write_ends(before: type[BaseException] | None) -> None:
    written = list[str]()

    def waits() -> bool:
        names = [frame.f_code.co_name for frame, _ in walk_stack(sys._current_frames()[main])]
        return names[0] == "wait" and "__exit__" in names

    def interrupt(*_: object) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    def slowly() -> None:
        wait_until(waits)
        signal.pthread_kill(main, signal.SIGINT)
        interrupted.wait(60)
        written.append("one")

    def broken_off() -> None:
        with BackgroundWriter() as writer:
            writer.submit(slowly)
            if before:
                raise before

    main, interrupted = threading.get_ident(), threading.Event()
    usual = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            broken_off()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert written == ["one"]
