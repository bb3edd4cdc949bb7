"""Cards (README.md) of exported models and label sets: how they were made, and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridal import __version__
from hybridal.core.rounds import Metrics, Round
from hybridal.measures.certainty import accuracy_in_words, f1_in_words, known
from hybridal.measures.guessing import guessing_in_words
from hybridal.runs.settings import Settings
from hybridal.tasks.task import Split, Task

HERE = "this folder"
"""Placeholder for the address of the repository."""

_PROBE = "cross-fitted probe"
_SHARED: Mapping[str, Any] = {"tags": ["active-learning", "hybridal"]}


def model_card(task: Task, settings: Settings, fact: Round, plain: bool) -> str:
    """Return the card of a model.

    Args:
        task: The task.
        settings: The settings of the run.
        fact: The round in which the model was trained last.
        plain: Whether transformers loads the model without the code in its folder.
    """
    about: dict[str, Any] = {"library_name": "transformers", "pipeline_tag": "text-classification", **_SHARED}
    if found := _results(task, fact):
        about["model-index"] = [{"name": task.name, "results": found}]
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
    return f"""{_front(about)}# {task.name} classifier

A text classifier trained by active learning with hybridal {__version__}: backbone `{settings.backbone}`, schedule
`{settings.schedule}`, acquisition `{settings.acquisition_spec}`, seed {settings.seed}. Its last round learnt from
{fact.labels} labels, in round {fact.round} (update `{fact.update}`).

```python
from transformers import pipeline

classify = pipeline("text-classification", model="{HERE}"{code})
classify("a text", truncation=True, top_k=None)
```
{why}{scaling}
{_measured(fact)}
The classes, in the order of the logits:

{classes}

The model knows only what its labels showed it: check it on your own texts before you rely on it.
"""


def label_card(task: Task, settings: Settings, splits: Mapping[str, Split], fact: Round | None) -> str:
    """Return the card of labels; `fact` is the last round that was trained on them."""
    files = [{"split": name, "path": f"{name}.parquet"} for name in splits]
    about: dict[str, Any] = {"task_categories": ["text-classification"], **_SHARED}
    about["configs"] = [{"config_name": "default", "data_files": files}]
    rows = "".join(
        f"| {name} | " + " | ".join(str(int((split.labels == number).sum())) for split in splits.values()) + " |\n"
        for number, name in enumerate(task.classes)
    )
    learnt = ""
    if fact is not None:
        learnt = f"\nWhat a model with backbone `{settings.backbone}` made of them, in round {fact.round}:\n\n"
        learnt += _measured(fact)
    return f"""{_front(about)}# {task.name} labels

{sum(map(len, splits.values()))} texts with labels, asked for by active learning with hybridal {__version__}:
acquisition `{settings.acquisition_spec}`, seed {settings.seed}.

```python
from datasets import load_dataset

labels = load_dataset("{HERE}")
```

`train` holds what was learnt from, in the order in which it was labelled: texts that a model learns much from, so that
classes are not as frequent here as elsewhere. `validation`, where there is one, was only measured on.

| class | {" | ".join(splits)} |
|---{"|---" * len(splits)}|
{rows}{learnt}"""


def _front(about: Mapping[str, Any]) -> str:
    """Return the YAML header, which the hub reads."""
    import yaml

    return f"---\n{yaml.safe_dump(about, sort_keys=False, allow_unicode=True)}---\n"


def _splits(fact: Round) -> dict[str, Metrics]:
    found = {"validation": fact.validation, _PROBE: fact.cross, "test": fact.test}
    return {name: metrics for name, metrics in found.items() if metrics is not None}


def _measured(fact: Round) -> str:
    """Return a table with one row per split, with 95% confidence intervals."""
    rows = [
        f"| {split} | {m.n} | {_after('accuracy', accuracy_in_words(m))} | {_after('macro-F1', f1_in_words(m))} | "
        + " | ".join(_cell(known(m, name)) for name in ("nll", "nll_scaled", "ece", "ece_scaled"))
        + " |\n"
        for split, m in _splits(fact).items()
    ]
    guesses = [guessing_in_words(m, split) for split, m in _splits(fact).items() if split != _PROBE]
    return (
        "| split | texts | accuracy | macro-F1 | NLL | NLL scaled | ECE | ECE scaled |\n"
        f"|---|---|---|---|---|---|---|---|\n{''.join(rows)}"
        + "".join(f"\n{sentence}\n" for sentence in guesses if sentence)
    )


def _after(name: str, words: str) -> str:
    """Remove the name of a metric, which is in the header of its column."""
    return words.removeprefix(name).lstrip(": ")


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _results(task: Task, fact: Round) -> list[dict[str, Any]]:
    """Return the test metrics in the hub's format.

    It has no intervals, so metrics on a few validation texts are omitted.
    """
    if fact.test is None:
        return []
    names = {"accuracy": "accuracy", "f1": "macro-F1", "ece_scaled": "expected calibration error"}
    return [
        {
            "task": {"type": "text-classification"},
            "dataset": {"name": f"{task.name} (test, {fact.test.n} texts)", "type": "own", "split": "test"},
            "metrics": [
                {"type": kind.partition("_")[0], "name": name, "value": round(value, 4)}
                for kind, name in names.items()
                if (value := known(fact.test, kind)) is not None
            ],
        }
    ]
