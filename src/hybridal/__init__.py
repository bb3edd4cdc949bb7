"""Active learning for text classification that decides, round by round, whether to retrain or to fine-tune."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hybridal.annotators.callback import Callback
    from hybridal.core.facts import Round
    from hybridal.core.rules import Rules
    from hybridal.errors import RunError, UserError
    from hybridal.learners.active_learner import ActiveLearner
    from hybridal.learners.estimator import EstimatorLearner
    from hybridal.learners.text_classifier import SavedModel
    from hybridal.measures.stabilisation import Stabilisation
    from hybridal.schedules import make_schedule
    from hybridal.schedules.constant import Constant
    from hybridal.schedules.fixed import FixedSwitch
    from hybridal.schedules.hybrid import HybridAL
    from hybridal.tasks import Split, Task, load_task

# Names are imported when they are first used: `import hybridal` loads neither torch nor transformers.
_HOMES = {
    "ActiveLearner": "hybridal.learners.active_learner",
    "Callback": "hybridal.annotators.callback",
    "Constant": "hybridal.schedules.constant",
    "EstimatorLearner": "hybridal.learners.estimator",
    "FixedSwitch": "hybridal.schedules.fixed",
    "HybridAL": "hybridal.schedules.hybrid",
    "Rules": "hybridal.core.rules",
    "Round": "hybridal.core.facts",
    "RunError": "hybridal.errors",
    "SavedModel": "hybridal.learners.text_classifier",
    "Split": "hybridal.tasks",
    "Stabilisation": "hybridal.measures.stabilisation",
    "Task": "hybridal.tasks",
    "UserError": "hybridal.errors",
    "load_task": "hybridal.tasks",
    "make_schedule": "hybridal.schedules",
}

__all__ = [
    "ActiveLearner",
    "Callback",
    "Constant",
    "EstimatorLearner",
    "FixedSwitch",
    "HybridAL",
    "Round",
    "Rules",
    "RunError",
    "SavedModel",
    "Split",
    "Stabilisation",
    "Task",
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
