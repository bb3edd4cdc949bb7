"""`python -m hybridal.app.trainer.model_check RUNS`: try the model of an imported project.

The files may come from a stranger. In a separate process a crash counts as a refusal, and the server loads no torch.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from hybridal.app.project import chapter_folders
from hybridal.app.trainer import chapter as chapters
from hybridal.app.trainer.publish import error_sentence
from hybridal.backbones import candidate_names
from hybridal.backbones.auto_candidates import is_auto
from hybridal.core.checked import matches_type
from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.pool import LEFT_OUT, Pool
from hybridal.core.rounds import Round
from hybridal.learners.active_learner import ActiveLearner
from hybridal.loop.loop import State
from hybridal.runs import checkpoint
from hybridal.runs.record import RunFolder


def check(runs: Path) -> None:
    """Load the newest chapter and predict with it; check everything that pages and later rounds rely on.

    Raises:
        Exception: Whatever is wrong.
    """
    found = chapter_folders(runs)
    for folder in found:
        _check_history(RunFolder.open(folder).history())
    chapter = chapters.load(found)
    learner, task = chapter.learner, chapter.learner.experiment.task
    _check_history(learner.history)  # its last record is that of the checkpoint
    saved = checkpoint.load(found[-1] / "checkpoint", task.label_sets)
    if saved is None or len(chapter.class_names) < 2:
        raise ValueError("it has no state or no classes")
    _check_state(saved[0], learner)
    if not np.isfinite(learner.predict_proba(task.train.texts[:2])).all():
        raise ValueError("its predictions are not numbers")
    chapter.learnt()


def _check_history(history: Sequence[Round]) -> None:
    if not history or not all(is_well_typed(record, type(record)) for record in history):
        raise ValueError("a record of a round is wrong")
    if [record.round for record in history] != [*range(1, len(history) + 1)]:
        raise ValueError("records of rounds are missing")


def _check_state(state: State, learner: ActiveLearner) -> None:
    typed = ((state.temperature, float | None), (state.thresholds, tuple[float, ...]), (state.trained, bool))
    if not all(is_well_typed(value, kind) for value, kind in typed) or not _is_candidate(state.encoder, learner):
        raise ValueError("its checkpoint is wrong")
    if state.update_sequence != learner.history[-1].update_sequence:
        raise ValueError("its checkpoint is not that of its last record")
    task = learner.experiment.task
    answers = len(task.classes) if task.label_sets is None else len(task.label_sets.sets)
    _check_pool(state.pool, len(task.train), answers)
    shapes = {name: tensor.shape for name, tensor in learner.transformer.pretrained.items()}
    if state.weights is not None and {name: tensor.shape for name, tensor in state.weights.items()} != shapes:
        raise ValueError("its weights are not those of its encoder")
    for name, tensor in (state.moments or {}).items():
        if tensor.numel() != 1 and tensor.shape != shapes.get(name.partition("/")[2]):
            raise ValueError("its moments are not those of its encoder")
    _check_finite({**(state.weights or {}), **(state.moments or {})})
    _check_finite({f"{signal}/{name}": part for signal, one in state.snapshots.items() for name, part in one.items()})


def _is_candidate(choice: EncoderChoice | None, learner: ActiveLearner) -> bool:
    """Whether the encoder in use is one of the candidates, if there are several."""
    backbone = learner.settings.backbone
    if choice is None or not is_auto(backbone):
        return choice is None
    return is_well_typed(choice, EncoderChoice) and choice.backbone in candidate_names(backbone)


def is_well_typed(value: Any, kind: Any) -> bool:
    """Whether a value, and all that is in it, is of a type; numbers must be finite.

    >>> is_well_typed({"alpha": 0.5}, Mapping[str, float | None]), is_well_typed((1, "2"), tuple[int, ...])
    (True, False)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(is_well_typed(value, part) for part in parts)
    if is_dataclass(kind):
        hints = get_type_hints(type(value)).items() if isinstance(value, cast(type, kind)) else ()
        fields = [(name, hint) for name, hint in hints if get_origin(hint) is not ClassVar]
        return bool(fields) and all(is_well_typed(getattr(value, name), hint) for name, hint in fields)
    if origin is tuple:
        return isinstance(value, tuple) and all(is_well_typed(one, parts[0]) for one in value)
    if origin is Mapping:
        whole = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
        return whole and all(is_well_typed(one, parts[1]) for one in value.values())
    return matches_type(value, kind)


def _check_pool(pool: Pool, texts: int, answers: int) -> None:
    """Require rows of texts and numbers of answers that there are."""
    per_text = [pool.labels, pool.origins, pool.known_from]
    rows = [pool.order, pool.pending, pool.held, pool.by_model]
    good = all(values.dtype == np.int64 and values.ndim == 1 for values in (*per_text, *rows, pool.model_labels))
    good = good and all(len(values) == texts for values in per_text) and len(pool.model_labels) in (0, texts)
    for values in rows if good else ():
        good = good and len(np.unique(values)) == len(values)
        good = good and bool(((values >= 0) & (values < texts)).all())
    for values in (pool.labels, pool.model_labels) if good else ():
        good = good and bool(((values >= LEFT_OUT) & (values < answers)).all())
    counts = (pool.newest, pool.corrected, pool.withdrawn)
    if not good or not all(type(count) is int and count >= 0 for count in counts) or pool.newest > len(pool.order):
        raise ValueError("its labels are not those of texts")


def _check_finite(tensors: Mapping[str, Any]) -> None:
    import torch

    for name, values in tensors.items():
        if not torch.isfinite(torch.as_tensor(values)).all():
            raise ValueError(f"'{name}' has values that are not numbers")


def main(runs: Path) -> int:
    """Return 0 if the model can be used; otherwise print why not."""
    try:
        check(runs)
    except Exception as error:
        sys.stdout.write(f"{error_sentence(error, runs)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
