"""Write states to disk while the next round is computed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class BackgroundWriter:
    """Runs one write after the other in its own thread; an error is raised by the next `submit` or at the end.

    If the process is killed, writes that have not finished are lost, and `resume_run` computes their rounds again.
    """

    def __init__(self) -> None:
        self._thread, self._writing = ThreadPoolExecutor(1), Future[object]()
        self._writing.set_result(None)

    def submit(self, write: Callable[[], object]) -> None:
        """Start `write` after the previous write has finished."""
        self._writing.result()
        self._writing = self._thread.submit(write)

    def __enter__(self) -> BackgroundWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the last write, even through Ctrl-C: the lock is released next, and nothing may write after that."""
        interrupted = None
        while not self._writing.done():
            try:
                wait([self._writing])
            except KeyboardInterrupt as error:
                interrupted = error
        self._thread.shutdown()
        if kind is None:
            if interrupted is not None:
                raise interrupted
            self._writing.result()
