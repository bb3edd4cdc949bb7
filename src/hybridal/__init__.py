"""Active learning for text classification that decides, round by round, whether to retrain or to fine-tune."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hybridal.acquisition import Acquisition, Candidates, Selection
    from hybridal.annotators import Annotator
    from hybridal.annotators.callback import Callback
    from hybridal.core.facts import Cost, Metrics, News, Round
    from hybridal.core.observer import Observer
    from hybridal.core.rules import Rules
    from hybridal.core.source import TaskSource
    from hybridal.errors import RunError, UserError
    from hybridal.learners.active_learner import ActiveLearner
    from hybridal.learners.batch import Batch, Query
    from hybridal.learners.estimator import EstimatorLearner
    from hybridal.learners.text_classifier import TextClassifier
    from hybridal.measures.stabilisation import Stabilisation
    from hybridal.schedules import Rule, Schedule, make_schedule
    from hybridal.schedules.constant import Constant
    from hybridal.schedules.fixed import FixedSwitch
    from hybridal.schedules.hybrid import HybridAL
    from hybridal.signals import ModelView, Sample, Signal, Snapshot
    from hybridal.tasks import Split, Task, load_task
    from hybridal.updates import Plan, Situation, Update

# Names are imported when they are first used: `import hybridal` loads neither torch nor transformers.
_HOMES = {
    "Acquisition": "hybridal.acquisition",
    "ActiveLearner": "hybridal.learners.active_learner",
    "Annotator": "hybridal.annotators",
    "Batch": "hybridal.learners.batch",
    "Callback": "hybridal.annotators.callback",
    "Candidates": "hybridal.acquisition",
    "Constant": "hybridal.schedules.constant",
    "Cost": "hybridal.core.facts",
    "EstimatorLearner": "hybridal.learners.estimator",
    "FixedSwitch": "hybridal.schedules.fixed",
    "HybridAL": "hybridal.schedules.hybrid",
    "Metrics": "hybridal.core.facts",
    "ModelView": "hybridal.signals",
    "News": "hybridal.core.facts",
    "Observer": "hybridal.core.observer",
    "Plan": "hybridal.updates",
    "Query": "hybridal.learners.batch",
    "Round": "hybridal.core.facts",
    "Rule": "hybridal.schedules",
    "Rules": "hybridal.core.rules",
    "RunError": "hybridal.errors",
    "Sample": "hybridal.signals",
    "Schedule": "hybridal.schedules",
    "Selection": "hybridal.acquisition",
    "Signal": "hybridal.signals",
    "Situation": "hybridal.updates",
    "Snapshot": "hybridal.signals",
    "Split": "hybridal.tasks",
    "Stabilisation": "hybridal.measures.stabilisation",
    "Task": "hybridal.tasks",
    "TaskSource": "hybridal.core.source",
    "TextClassifier": "hybridal.learners.text_classifier",
    "Update": "hybridal.updates",
    "UserError": "hybridal.errors",
    "load_task": "hybridal.tasks",
    "make_schedule": "hybridal.schedules",
}

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
    "Metrics",
    "ModelView",
    "News",
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
    "TextClassifier",
    "Update",
    "UserError",
    "load_task",
    "make_schedule",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hybridal' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
