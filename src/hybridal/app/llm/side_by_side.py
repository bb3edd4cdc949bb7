"""A few slow calls at the same time, in threads that do not keep the process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    function: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[tuple[Item, Result | Exception]]:
    """Each item with what the function makes of it, or with its error, in the order of the items.

    >>> [(item, str(result)) for item, result in side_by_side(lambda n: 1 / n, [1, 0])]
    [(1, '1.0'), (0, 'division by zero')]
    """
    results: dict[int, Result | Exception] = {}

    def call(at: int) -> None:
        try:
            results[at] = function(items[at])
        except Exception as error:
            results[at] = error

    threads = [threading.Thread(target=call, args=(at,), daemon=True) for at in range(len(items))]
    for thread in threads:
        thread.start()
    for at, thread in enumerate(threads):
        thread.join()
        yield items[at], results[at]
