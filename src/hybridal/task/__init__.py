"""Where texts come from."""

from hybridal.task.task import UNKNOWN, Split, Task

__all__ = ["UNKNOWN", "Split", "Task"]
