"""Predict the texts of a run or of a learner with a transformer, to estimate shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hybridal.core.observer import Observer
from hybridal.core.outputs import Floats, Ints
from hybridal.core.pool import Pool
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.learners.estimated_texts import EstimatedTexts, described, estimated_texts
from hybridal.measures.shares.share_table import Progress, no_progress
from hybridal.models.training import forward_passes
from hybridal.runs.assemble import build_experiment, build_loop_model
from hybridal.runs.checks import preload_torch
from hybridal.runs.record import RunFolder
from hybridal.runs.run import on_device, restore, with_kept_validation
from hybridal.tasks.task import Split

if TYPE_CHECKING:
    from hybridal.models.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class TransformerPredictor:
    """Predicts with a transformer; models without some labels are probes of its frozen encoder."""

    model: TransformerModel
    pool: Pool

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.model.seed

    @property
    def rules(self) -> Rules:
        """The protocol's settings."""
        return self.model.rules

    def logits(self, splits: Sequence[Split], progress: Progress) -> Floats:
        """The logits of the texts of the pool and, if it is given, of the validation split."""
        model = self.model
        total = sum(map(len, splits))

        def report(done: int, _of: int) -> None:
            progress(done, total)

        found = [model.predict(np.arange(len(splits[0])), self.pool, progress=report).logits]
        if len(splits) > 1:
            rows, before = np.arange(len(splits[1])), len(splits[0])
            source, shift = model.validation.source, lambda done, _of: progress(before + done, total)
            found.append(forward_passes.predict(model.classifier, source, rows, progress=shift).logits)
        return np.concatenate(found)

    def logits_without(self, rows: Ints, splits: Sequence[Split]) -> Floats:
        """Those of a probe that has not learnt the labels of these rows."""
        model = self.model
        probe = model.probe(self.pool.withdraw(rows))
        features = [model.features.of(np.arange(len(splits[0])))]
        if len(splits) > 1:
            with model.classifier.using_weights(model.pretrained):
                features.append(model.text_features(splits[1].texts))
        return probe.logits(np.concatenate(features))


def texts_of_run(folder: RunFolder, device: str | None = None, progress: Progress = no_progress) -> EstimatedTexts:
    """Predict the texts of a run folder by the model after its last round; see `estimated_texts`.

    Raises:
        UserError: If it has no round yet or no checkpoint, or is a comparison.
    """
    if "schedules" in folder.about():
        raise UserError(
            f"{folder.path} is a comparison, which keeps no model; run one of its schedules: `hybridal run`."
        )
    if "key" in folder.about():
        from hybridal.learners.active_learner import ActiveLearner

        return ActiveLearner.load(folder.path, device=device, observer=Observer()).estimated_texts(progress)
    preload_torch()
    settings, task = on_device(folder.settings(), device), folder.task()
    validation = with_kept_validation(task, folder).validation.labels
    state, history = restore(folder)
    if state is None or state.weights is None or not history:
        raise UserError(f"{folder.path} has no model yet; go on with `hybridal resume {folder.path}`.")
    loop_model = build_loop_model(settings, task, (), Observer(), folder.backbone)
    experiment = build_experiment(settings, task, loop_model, ())
    experiment.load(replace(state, weights=loop_model.to_device(state.weights)))
    last, model = history[state.round - 1], loop_model.current
    backbone = settings.backbone if state.encoder is None else state.encoder.backbone
    return estimated_texts(
        TransformerPredictor(model, state.pool),
        task,
        state.pool,
        last.temperature,
        state.thresholds,
        described(f"encoder {backbone}", last),
        validation,
        progress,
    )
