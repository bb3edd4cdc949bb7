"""Writing states to disk while the next round is computed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class Keeper:
    """Writes in a thread of its own, one thing after the other; what went wrong is said at the next one or the end.

    What was not written when a process is killed is only computed again.
    """

    def __init__(self) -> None:
        self._thread, self._writing = ThreadPoolExecutor(1), Future[object]()
        self._writing.set_result(None)

    def keep(self, write: Callable[[], object]) -> None:
        """Begins to write when the last one is done."""
        self._writing.result()
        self._writing = self._thread.submit(write)

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Waits, whoever asks not to: the folder is about to be given to others, who must not find us writing in it."""
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
