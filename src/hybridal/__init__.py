"""Active learning for text classification that decides, round by round, whether to retrain or to fine-tune."""

from typing import TYPE_CHECKING, Any

from hybridal.system.openmp import limit_spinning

__version__ = "0.2.0"

if TYPE_CHECKING:
    from hybridal.acquisition import Acquisition, Candidates, Selection
    from hybridal.annotators import Annotator
    from hybridal.annotators.callback import Callback
    from hybridal.annotators.llm import LlmAnnotator
    from hybridal.core.observer import LoggingObserver, Observer
    from hybridal.core.rounds import Cost, LabelChanges, Metrics, Round
    from hybridal.core.rules import Rules
    from hybridal.core.task_source import TaskSource
    from hybridal.errors import RunError, UserError
    from hybridal.learners.active_learner import ActiveLearner
    from hybridal.learners.batch import Batch, Query
    from hybridal.learners.estimator import EstimatorLearner
    from hybridal.learners.teach_result import TeachResult
    from hybridal.learners.text_classifier import TextClassifier
    from hybridal.measures.stabilisation import Stabilisation
    from hybridal.schedules import Rule, Schedule, make_schedule
    from hybridal.schedules.constant import Constant
    from hybridal.schedules.fixed import FixedSwitch
    from hybridal.schedules.hybrid import HybridAL
    from hybridal.signals import ModelView, Sample, Signal, Snapshot
    from hybridal.tasks import Split, Task, load_task
    from hybridal.trackers import Tracker
    from hybridal.updates import Plan, Situation, Update

limit_spinning()  # torch, which is not imported yet, reads it once

# Names are imported when they are first used: `import hybridal` loads neither torch nor transformers.
_NAMES = {
    "hybridal.acquisition": ("Acquisition", "Candidates", "Selection"),
    "hybridal.annotators": ("Annotator",),
    "hybridal.annotators.callback": ("Callback",),
    "hybridal.annotators.llm": ("LlmAnnotator",),
    "hybridal.core.rounds": ("Cost", "Metrics", "LabelChanges", "Round"),
    "hybridal.core.observer": ("LoggingObserver", "Observer"),
    "hybridal.core.rules": ("Rules",),
    "hybridal.core.task_source": ("TaskSource",),
    "hybridal.errors": ("RunError", "UserError"),
    "hybridal.learners.active_learner": ("ActiveLearner",),
    "hybridal.learners.batch": ("Batch", "Query"),
    "hybridal.learners.estimator": ("EstimatorLearner",),
    "hybridal.learners.teach_result": ("TeachResult",),
    "hybridal.learners.text_classifier": ("TextClassifier",),
    "hybridal.measures.stabilisation": ("Stabilisation",),
    "hybridal.schedules": ("Rule", "Schedule", "make_schedule"),
    "hybridal.schedules.constant": ("Constant",),
    "hybridal.schedules.fixed": ("FixedSwitch",),
    "hybridal.schedules.hybrid": ("HybridAL",),
    "hybridal.signals": ("ModelView", "Sample", "Signal", "Snapshot"),
    "hybridal.tasks": ("Split", "Task", "load_task"),
    "hybridal.trackers": ("Tracker",),
    "hybridal.updates": ("Plan", "Situation", "Update"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "Acquisition",
    "ActiveLearner",
    "Annotator",
    "Batch",
    "Callback",
    "Candidates",
    "Constant",
    "Cost",
    "EstimatorLearner",
    "FixedSwitch",
    "HybridAL",
    "LabelChanges",
    "LlmAnnotator",
    "LoggingObserver",
    "Metrics",
    "ModelView",
    "Observer",
    "Plan",
    "Query",
    "Round",
    "Rule",
    "Rules",
    "RunError",
    "Sample",
    "Schedule",
    "Selection",
    "Signal",
    "Situation",
    "Snapshot",
    "Split",
    "Stabilisation",
    "Task",
    "TaskSource",
    "TeachResult",
    "TextClassifier",
    "Tracker",
    "Update",
    "UserError",
    "load_task",
    "make_schedule",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hybridal' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
