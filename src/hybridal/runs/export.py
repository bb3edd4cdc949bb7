"""What leaves a run: the model, as a folder that transformers loads by itself, and the labels, as a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from hybridal import __version__
from hybridal.backbones.backbone import ABOUT
from hybridal.core.facts import Metrics, Round
from hybridal.runs import checkpoint
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.system.files import folder_made_whole, remove_folder, strict_json
from hybridal.tasks.task import Task


def export_model(classifier: Any, encoder: Any, task: Task, settings: Settings, fact: Round, target: Path) -> None:
    """Writes the weights that the classifier holds now, its tokenizer and a model card.

    The temperature is in the weights: whoever loads the folder gets the probabilities that we give.
    """
    with folder_made_whole(target) as scratch:
        classifier.save(scratch, fact.temperature or 1.0)
        encoder.save(scratch)
        about = {
            "temperature": fact.temperature,
            "max_length": settings.rules.max_length,
            "pooling": classifier.pooling,
            "classes": task.classes,
            "labels": task.label_type.__name__,
            "hybridal": __version__,
        }
        (scratch / ABOUT).write_text(strict_json(about, indent=2) + "\n", encoding="utf-8")
        (scratch / "README.md").write_text(_card(task, settings, fact, classifier.loads_plainly), encoding="utf-8")
        remove_folder(target)


def _card(task: Task, settings: Settings, fact: Round, plain: bool) -> str:
    rows = [_row("validation", fact.validation), _row("cross-fitted probe", fact.cross), _row("test", fact.test)]
    classes = "\n".join(f"- {name}" for name in task.classes)
    code = "" if plain else ", trust_remote_code=True"
    why = (
        ""
        if plain
        else "\nThe mean of all tokens is taken by the one file of code in this folder, hence `trust_remote_code`.\n"
    )
    scaling = ""
    if fact.temperature is not None:
        scaling = f"\nIts probabilities are calibrated: a temperature of {fact.temperature:.3f} is in the weights.\n"
    return f"""---
library_name: transformers
pipeline_tag: text-classification
tags: [active-learning, hybridal]
---
# {task.name} classifier

A text classifier trained by active learning with hybridal {__version__}: backbone `{settings.backbone}`, schedule
`{settings.schedule}`, acquisition `{settings.acquisition}`, seed {settings.seed}. Its last round learnt from
{fact.labels} labels, in round {fact.round} (update `{fact.update}`).

```python
from transformers import pipeline

classify = pipeline("text-classification", model="this folder"{code})
classify("a text", truncation=True, top_k=None)
```
{why}{scaling}
| split | texts | accuracy | macro-F1 | NLL | NLL scaled | ECE | ECE scaled |
|---|---|---|---|---|---|---|---|
{"".join(rows)}
The classes, in the order of the logits:

{classes}

The model knows only what its labels showed it: check it on your own texts before you rely on it.
"""


def _row(split: str, m: Metrics | None) -> str:
    if m is None:
        return ""
    values = (m.accuracy, m.f1, m.nll, m.nll_scaled, m.ece, m.ece_scaled)
    return f"| {split} | {m.n} | " + " | ".join(f"{value:.3f}" for value in values) + " |\n"


def labels_csv(folder: RunFolder) -> str:
    """CSV with id, label and text of each labelled text, in the order they were acquired."""
    saved = checkpoint.load(folder.checkpoint)
    task = folder.task()
    table = io.StringIO()
    # The usual \r\n: with another line end the writer does not quote a lone \r, and readers see two rows.
    writer = csv.writer(table)
    writer.writerow(["id", "label", "text"])
    pool = saved[0].pool if saved else None
    for row in pool.order.tolist() if pool is not None else []:
        assert pool is not None
        writer.writerow([task.train.ids[row], task.classes[pool.labels[row]], task.train.texts[row]])
    return table.getvalue()
