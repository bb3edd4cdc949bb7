"""Where texts come from."""

from hybridal.task.load import load_task, task_names
from hybridal.task.task import UNKNOWN, Split, Task

__all__ = ["UNKNOWN", "Split", "Task", "load_task", "task_names"]
