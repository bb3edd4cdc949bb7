"""Export the model of a run as a folder for transformers, and its labels as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hybridal import __version__
from hybridal.backbones.exported import ABOUT
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.core.provenance import BROUGHT, origin_name
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.measures.evidence import Evidence
from hybridal.runs import checkpoint
from hybridal.runs.cards import model_card
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.system.files import folder_made_whole, read_object, strict_json
from hybridal.tasks.label_cells import write_cell
from hybridal.tasks.task import Split, Task

MULTI_LABEL = "multi_label_classification"
"""The `problem_type` of transformers for several labels per text."""


RANDOM_LABELS = "random_labels.json"
"""How the model answers random labels that it has not learnt, on which its promises are based."""


def export_model(
    classifier: Any,
    encoder: Any,
    task: Task,
    settings: Settings,
    record: Round,
    target: Path,
    evidence: Evidence | None = None,
) -> None:
    """Write the current weights of the classifier, its tokenizer and a model card.

    The temperature is part of the weights, so that transformers computes the same probabilities. Decision thresholds of
    several labels per text are in `hybridal.json` and `config.json`. With evidence, so are the thresholds of promises
    in `config.json`, and any other promise can be made from `random_labels.json`.
    """
    about: dict[str, Any] = {
        "temperature": record.temperature,
        "max_length": settings.rules.max_length,
        "pooling": classifier.pooling,
        "classes": task.classes,
        "labels": task.label_type.__name__,
        "labels_learnt": record.labels,
        "hybridal": __version__,
    }
    if record.thresholds:
        about |= {"thresholds": list(record.thresholds), "thresholds_for": settings.rules.thresholds}
    card = model_card(task, settings, record, classifier.is_native_exportable, evidence)
    write_model(classifier, encoder, record.temperature or 1.0, about, card, target, evidence)


def write_model(
    classifier: Any,
    encoder: Any,
    temperature: float,
    about: Mapping[str, Any],
    card: str,
    target: Path,
    evidence: Evidence | None = None,
) -> None:
    """Write a model folder, replacing an older model; refuse to replace a folder with other files."""
    if target.exists() and not _may_be_replaced(target):
        raise UserError(f"{target} holds other files than a model, which are not overwritten; name a new folder.")
    with folder_made_whole(target, replace=True) as scratch:
        classifier.save(scratch, temperature)
        _declare_decisions(scratch / "config.json", about.get("thresholds", ()), evidence)
        if evidence is not None:
            (scratch / RANDOM_LABELS).write_text(strict_json(evidence.to_json()) + "\n", encoding="utf-8")
        encoder.save(scratch)
        (scratch / ABOUT).write_text(strict_json(about, indent=2) + "\n", encoding="utf-8")
        (scratch / "README.md").write_text(card, encoding="utf-8")


def read_evidence(folder: Path) -> Evidence | None:
    """Read what the random labels of an exported model tell; None if it has none.

    Raises:
        UserError: If the file is damaged.
    """
    path = folder / RANDOM_LABELS
    if not path.is_file():
        return None
    found = read_object(path)
    try:
        return Evidence.from_json(found)
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}); copy the folder or export the model again.") from error


def _declare_decisions(config: Path, thresholds: Sequence[float], evidence: Evidence | None) -> None:
    """Write into a model's config.json from which probability each of several classes is given, and its promises.

    By `problem_type`, pipelines of transformers apply sigmoid or softmax. The encoder may itself have been exported
    with several labels per text, or with promises; what is left of that in its configuration is removed.
    """
    found = read_object(config) if config.is_file() else {}
    stale = found.pop("promises", None) is not None
    if evidence is not None:
        found["promises"] = evidence.summary()
    if thresholds:
        found |= {"problem_type": MULTI_LABEL, "thresholds": list(thresholds)}
    elif "thresholds" in found:
        del found["thresholds"]
        found["problem_type"] = "single_label_classification"
    elif evidence is None and not stale:
        return
    config.write_text(strict_json(found, indent=2) + "\n", encoding="utf-8")


def _may_be_replaced(target: Path) -> bool:
    return target.is_dir() and ((target / ABOUT).is_file() or not any(target.iterdir()))


def finished_model(folder: RunFolder) -> Path:
    """Return the model folder of a finished run.

    Raises:
        UserError: If there is none yet.
    """
    if not folder.model.is_dir():
        path, about = folder.path, folder.about()
        if "schedules" in about:
            raise UserError(f"{path} is a comparison, which keeps no model; run one of its schedules: `hybridal run`.")
        how = f"use ActiveLearner.load('{path}').model" if "key" in about else f"run `hybridal resume {path}`"
        raise UserError(f"{path} has no model folder yet; {how} for it.")
    return folder.model


def model_folder(path: Path) -> Path:
    """Return the model of a run folder; return another folder unchanged."""
    return finished_model(RunFolder.open(path)) if (path / "run.json").exists() else path


def finished_pool(folder: RunFolder) -> Pool:
    """Return the pool after the last round."""
    saved = checkpoint.load(folder.checkpoint, folder.task().label_sets)
    if saved is None:
        raise UserError(
            f"{folder.path} has no checkpoint, which contains the labels; compute it again with "
            f"`hybridal resume {folder.path} --recompute`."
        )
    return saved[0].pool


def labelled(task: Task, pool: Pool) -> dict[str, Split]:
    """Return the labelled texts: `train` in the order of labelling, and `validation`."""
    rows = replace(task.train, labels=pool.labels)
    held = rows.take(pool.held[pool.labels[pool.held] != UNKNOWN])
    fixed = task.validation.take(np.flatnonzero(task.validation.labels != UNKNOWN))
    return {"train": rows.take(pool.order), "validation": held.joined(fixed)}


def labels_csv(task: Task, pool: Pool) -> str:
    """Return CSV with id, label, text and split of all labelled texts, in the order of labelling, validation last.

    If a text may have several classes, its label is a JSON list of them, `[]` for none. The column `drawn` says how the
    text was drawn: `random`, `chosen` or `brought`; `probability` is that of random ones, given the labels before. The
    column `by` says who gave the label: `people` or a `model`.
    """
    table = io.StringIO()
    # Use the default \r\n: with another line end, the writer does not quote a single \r, and readers see two rows.
    writer = csv.writer(table)
    writer.writerow(["id", "label", "text", "split", "drawn", "probability", "by"])
    guessed = {task.train.ids[row] for row in pool.by_model.tolist()}
    drawn = {
        task.train.ids[row]: (origin_name(pool.origins[row]), "") for row in np.flatnonzero(pool.labels >= 0).tolist()
    }
    for draw in pool.random_draws():
        drawn |= {task.train.ids[row]: ("random", f"{draw.probability:.6g}") for row in draw.drawn.tolist()}
    for name, rows in labelled(task, pool).items():
        for id, number, text in zip(rows.ids, rows.labels, rows.texts, strict=True):
            how = drawn.get(id, (origin_name(BROUGHT), ""))
            by = "model" if id in guessed else "people"
            writer.writerow([id, write_cell(task.answer(number)), text, name, *how, by])
    return table.getvalue()
