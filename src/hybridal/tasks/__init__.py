"""Where texts come from."""

from hybridal.tasks.load import load_task, task_names
from hybridal.tasks.task import Split, Task

__all__ = ["Split", "Task", "load_task", "task_names"]
