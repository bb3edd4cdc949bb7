"""Active learning for text classification that decides, round by round, whether to retrain or to fine-tune."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hybridal.active_learner import ActiveLearner
    from hybridal.annotators.callback import Callback
    from hybridal.errors import RunError, UserError
    from hybridal.estimator import EstimatorLearner
    from hybridal.facts import Round
    from hybridal.protocol import Protocol
    from hybridal.saved import SavedModel
    from hybridal.schedules import make_schedule
    from hybridal.schedules.constant import Constant
    from hybridal.schedules.fixed import FixedSwitch
    from hybridal.schedules.hybrid import HybridAL
    from hybridal.stabilisation import Stabilisation
    from hybridal.task import Split, Task, load_task

# Names are imported when they are first used: `import hybridal` loads neither torch nor transformers.
_HOMES = {
    "ActiveLearner": "hybridal.active_learner",
    "Callback": "hybridal.annotators.callback",
    "Constant": "hybridal.schedules.constant",
    "EstimatorLearner": "hybridal.estimator",
    "FixedSwitch": "hybridal.schedules.fixed",
    "HybridAL": "hybridal.schedules.hybrid",
    "Protocol": "hybridal.protocol",
    "Round": "hybridal.facts",
    "RunError": "hybridal.errors",
    "SavedModel": "hybridal.saved",
    "Split": "hybridal.task",
    "Stabilisation": "hybridal.stabilisation",
    "Task": "hybridal.task",
    "UserError": "hybridal.errors",
    "load_task": "hybridal.task",
    "make_schedule": "hybridal.schedules",
}

__all__ = [
    "ActiveLearner",
    "Callback",
    "Constant",
    "EstimatorLearner",
    "FixedSwitch",
    "HybridAL",
    "Protocol",
    "Round",
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
