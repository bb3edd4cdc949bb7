"""Tasks: texts with ids, labels and splits, from files, frames, datasets and benchmarks."""

from hybridal.tasks.task import Split, Task
from hybridal.tasks.task_loading import load_task, task_names

__all__ = ["Split", "Task", "load_task", "task_names"]
