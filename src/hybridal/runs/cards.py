"""Cards (README.md) of exported models and label sets: how they were made, and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridal import __version__
from hybridal.core.rounds import Metrics, MultiLabelMetrics, Round
from hybridal.core.rules import parse_thresholds
from hybridal.measures.certainty import accuracy_in_words, f1_in_words, known, micro_f1_in_words
from hybridal.measures.evidence import COVERAGES, MAX_ERRORS, Evidence
from hybridal.measures.guessing import guessing_in_words
from hybridal.runs.settings import Settings
from hybridal.tasks.task import Split, Task

HERE = "this folder"
"""Placeholder for the address of the repository."""

_PROBE = "cross-fitted probe"
_SHARED: Mapping[str, Any] = {"tags": ["active-learning", "hybridal"]}


def model_card(task: Task, settings: Settings, record: Round, plain: bool, evidence: Evidence | None = None) -> str:
    """Return the card of a model.

    Args:
        task: The task.
        settings: The settings of the run.
        record: The round in which the model was trained last; without labels, one of no labels.
        plain: Whether transformers loads the model without the code in its folder.
        evidence: What random labels tell of its answers.
    """
    about: dict[str, Any] = {"library_name": "transformers", "pipeline_tag": "text-classification", **_SHARED}
    if found := _results(task, record):
        about["model-index"] = [{"name": task.name, "results": found}]
    if record.thresholds:
        classes = _decisions(task, settings, record.thresholds)
    else:
        classes = "\n".join(f"- {name}" for name in task.classes)
    code = "" if plain else ", trust_remote_code=True"
    why = (
        ""
        if plain
        else "\nThe mean of all tokens is taken by the one file of code in this folder, hence `trust_remote_code`.\n"
    )
    source = "labels showed" if record.labels else "descriptions told"
    scaling = ""
    if record.temperature is not None:
        scaling = f"\nIts probabilities are calibrated: a temperature of {record.temperature:.3f} is in the weights.\n"
    return f"""{_front(about)}# {task.name} classifier

{_learnt(settings, record)}

```python
from transformers import pipeline

classify = pipeline("text-classification", model="{HERE}"{code})
classify("a text", truncation=True, top_k=None)
```
{why}{scaling}
{_measured(record) if record.labels else ""}
The classes, in the order of the logits:

{classes}
{_promises(evidence)}
The model knows only what its {source} it: check it on your own texts before you rely on it.
"""


def _promises(evidence: Evidence | None) -> str:
    """Return what can be promised of the model's answers."""
    if evidence is None:
        return ""
    kinds = "whole set of classes" if evidence.multi_label else "class"
    rows = "".join(
        f"| at most {each.max_error:.0%} | nothing | – |\n"
        if each.threshold is None
        else f"| at most {each.max_error:.0%} | {each.share:.0%} | {each.threshold:.4f} |\n"
        for each in map(evidence.promise, MAX_ERRORS)
    )
    sets = "".join(
        f"| {each.coverage:.0%} | {'all classes' if each.threshold is None else f'{each.threshold:.4f}'} |\n"
        for each in map(evidence.set_rule, COVERAGES)
    )
    return f"""
How many texts the model can answer alone, so that the {kinds} is wrong in no more of them than stated, with 95%
confidence for each row by itself, by {len(evidence)} random labels that it has not learnt:

| wrong answers | texts answered | from this confidence |
|---|---|---|
{rows}
From which probability a class belongs to the set of a text, so that at least this share of the sets has all true
classes of its text, with the same confidence:

| sets | from this probability |
|---|---|
{sets}
`hybridal predict --max-error 0.02 --sets 0.95` marks which texts it answers, and writes the sets. This holds for new
texts like those labelled.
"""


def _learnt(settings: Settings, record: Round) -> str:
    """Return how the model was made, and from how many labels."""
    backbone = _backbone(settings, record)
    if not record.labels:
        return f"""A text classifier of hybridal {__version__} **without labels**: backbone {backbone}.
It knows its classes by names and descriptions alone; its accuracy is unknown, and its probabilities are cautious."""
    return f"""A text classifier trained by active learning with hybridal {__version__}: backbone {backbone}, schedule
`{settings.schedule}`, acquisition `{settings.acquisition_spec}`, seed {settings.seed}. Its last round learnt from
{record.labels} labels, in round {record.round} (update `{record.update}`)."""


def _backbone(settings: Settings, record: Round) -> str:
    """The pretrained encoder of a round, and if it was chosen among several, why."""
    choice = record.encoder
    return f"`{settings.backbone}`" if choice is None else f"`{choice.backbone}` (chosen by labels: {choice.reason})"


def label_card(task: Task, settings: Settings, splits: Mapping[str, Split], record: Round | None) -> str:
    """Return the card of labels; `record` is the last round that was trained on them."""
    files = [{"split": name, "path": f"{name}.parquet"} for name in splits]
    about: dict[str, Any] = {"task_categories": ["text-classification"], **_SHARED}
    about["configs"] = [{"config_name": "default", "data_files": files}]
    per_split = [task.class_counts(split.labels) for split in splits.values()]
    rows = "".join(
        f"| {name} | " + " | ".join(str(counts[number]) for counts in per_split) + " |\n"
        for number, name in enumerate(task.classes)
    )
    learnt = ""
    if record is not None:
        model = f"a model with backbone {_backbone(settings, record)}, trained on them in round {record.round}"
        learnt = f"\nMetrics of {model}:\n\n{_measured(record)}"
    return f"""{_front(about)}# {task.name} labels

{sum(map(len, splits.values()))} texts with labels, chosen by active learning with hybridal {__version__}:
acquisition `{settings.acquisition_spec}`, seed {settings.seed}.

```python
from datasets import load_dataset

labels = load_dataset("{HERE}")
```

`train` contains the texts that the model was trained on, in the order in which they were labelled. Active learning
chose them, so the class frequencies are not those of all texts. `validation`, if present, was only used for evaluation.

| class | {" | ".join(splits)} |
|---{"|---" * len(splits)}|
{rows}{learnt}"""


def _front(about: Mapping[str, Any]) -> str:
    """Return the YAML header, which the hub reads."""
    import yaml

    return f"---\n{yaml.safe_dump(about, sort_keys=False, allow_unicode=True)}---\n"


def _splits(record: Round) -> dict[str, Metrics]:
    found = {"validation": record.validation, _PROBE: record.cross, "test": record.test}
    return {name: metrics for name, metrics in found.items() if metrics is not None}


def _decisions(task: Task, settings: Settings, thresholds: Sequence[float]) -> str:
    """Return a table of the classes with their thresholds, and what they were chosen for."""
    name, cost = parse_thresholds(settings.rules.thresholds)
    aims = {
        "macro_f1": "chosen for the best expected macro-F1",
        "micro_f1": "chosen for the best expected micro-F1",
        "cost": f"chosen for a missed class to cost {cost:g} times as much as a wrong one",
        "half": "0.5 by choice",
    }
    rows = "".join(f"| {_escaped(one)} | {at:.4f} |\n" for one, at in zip(task.classes, thresholds, strict=True))
    return f"""| class | threshold |
|---|---|
{rows}
A text has every class whose probability is at least the threshold, so it may have several or none. The thresholds are
{aims[name]}; `config.json` has them as `thresholds`."""


def _escaped(name: str) -> str:
    """Escape a class name for a cell of a table."""
    return " ".join(name.split()).replace("|", "\\|")


def _measured(record: Round) -> str:
    """Return a table with one row per split, with 95% confidence intervals."""
    splits = _splits(record)
    rows = [
        f"| {split} | {m.n} | {' | '.join(_scores(m).values())} | "
        + " | ".join(_cell(known(m, name)) for name in ("nll", "nll_scaled", "ece", "ece_scaled"))
        + " |\n"
        for split, m in splits.items()
    ]
    guesses = [guessing_in_words(m, split) for split, m in splits.items() if split != _PROBE]
    heads = next((list(_scores(m)) for m in splits.values()), ["accuracy", "macro-F1"])
    return (
        f"| split | texts | {' | '.join(heads)} | NLL | NLL scaled | ECE | ECE scaled |\n"
        f"|{'---|' * (6 + len(heads))}\n{''.join(rows)}"
        + "".join(f"\n{sentence}\n" for sentence in guesses if sentence)
    )


def _scores(metrics: Metrics) -> dict[str, str]:
    """Return the scores in words by their names."""
    accuracy, f1 = _after(metrics.accuracy_name, accuracy_in_words(metrics)), _after("macro-F1", f1_in_words(metrics))
    if not isinstance(metrics, MultiLabelMetrics):
        return {metrics.accuracy_name: accuracy, "macro-F1": f1}
    return {
        "macro-F1": f1,
        "micro-F1": _after("micro-F1", micro_f1_in_words(metrics)),
        "LRAP": f"{metrics.lrap:.3f}",
        metrics.accuracy_name: accuracy,
        "Hamming loss": f"{metrics.hamming:.3f}",
    }


def _after(name: str, words: str) -> str:
    """Remove the name of a metric, which is in the header of its column."""
    return words.removeprefix(name).lstrip(": ")


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _results(task: Task, record: Round) -> list[dict[str, Any]]:
    """Return the test metrics in the hub's format.

    It has no intervals, so metrics on a few validation texts are omitted.
    """
    if record.test is None:
        return []
    names = {"accuracy": "accuracy", "f1": "macro-F1", "ece_scaled": "expected calibration error"}
    if isinstance(record.test, MultiLabelMetrics):
        names = {"f1": "macro-F1", "micro_f1": "micro-F1", **names, "accuracy": "exact match"}
    return [
        {
            "task": {"type": "text-classification"},
            "dataset": {"name": f"{task.name} (test, {record.test.n} texts)", "type": "own", "split": "test"},
            "metrics": [
                {"type": kind.removeprefix("micro_").partition("_")[0], "name": name, "value": round(value, 4)}
                for kind, name in names.items()
                if (value := known(record.test, kind)) is not None
            ],
        }
    ]
