"""Where texts come from."""

from hybridal.tasks.task import Split, Task
from hybridal.tasks.task_loading import load_task, task_names

__all__ = ["Split", "Task", "load_task", "task_names"]
