"""Figures from measurements: medians with their spread, and ratios within one repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

Turns = Mapping[str, Sequence[Mapping[str, Any]]]
"""By contender, what its process answered at each repeat."""

OURS, TRAINER, SMALL_TEXT = "hybridal", "Trainer", "small-text"

# `work` is a round without its rest: without loading weights, saving checkpoints and the like.
RATIOS = {
    f"{what}_vs_{key}": (peer, what)
    for what in ("round", "work", "score")
    for key, peer in (("small_text", SMALL_TEXT), ("trainer", TRAINER))
}


def figure(name: str, unit: str, samples: Sequence[float]) -> dict[str, Any]:
    """The median of the samples, and the least and the most.

    >>> figure("round", "s", [3.0, 1.0, 2.5])
    {'name': 'round', 'unit': 's', 'value': 2.5, 'low': 1.0, 'high': 3.0, 'runs': 3}
    """
    rounded = [float(f"{sample:.4g}") for sample in samples]
    return {
        "name": name,
        "unit": unit,
        "value": median(rounded),
        "low": min(rounded),
        "high": max(rounded),
        "runs": len(rounded),
    }


def tasks(turns: Turns) -> list[str]:
    """The tasks that were played, in order."""
    first = next(iter(turns.values()))[0]
    return [turn["task"] for turn in first["turns"]]


def speeds(turns: Turns, contender: str, task: int, what: str) -> list[float]:
    """Rounds, rounds without their rest, or texts scored per second, repeat by repeat."""
    found = []
    for turn in _of(turns, contender, task):
        seconds = turn["seconds"]
        per_second = {
            "round": 1 / seconds["round"],
            "work": 1 / (seconds["round"] - seconds["rest"]),
            "score": turn["scored"] / seconds["score"],
        }
        found.append(per_second[what])
    return found


def ratio(turns: Turns, task: int, peer: str, what: str) -> list[float]:
    """How many times as fast as a peer we were, repeat by repeat: noise that hits one repeat hits both."""
    pairs = zip(speeds(turns, OURS, task, what), speeds(turns, peer, task, what), strict=True)
    return [ours / theirs for ours, theirs in pairs]


def comparison(turns: Turns) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The ratios, each of the task where it is lowest, and all figures, named `task/contender/what`."""
    lowest: dict[str, float] = {}
    found = []
    for number, task in enumerate(tasks(turns)):
        for contender in turns:
            each = _of(turns, contender, number)
            for phase in each[0]["seconds"]:
                samples = [turn["seconds"][phase] for turn in each]
                found.append(figure(f"{task}/{contender}/{phase}", "s", samples))
            found.append(figure(f"{task}/{contender}/scored", "texts/s", speeds(turns, contender, number, "score")))
        for name, (peer, what) in RATIOS.items():
            times = figure(f"{task}/{name}", "times", ratio(turns, number, peer, what))
            found.append(times)
            lowest[name] = min(times["value"], lowest.get(name, times["value"]))
    for contender, repeats in turns.items():
        found.append(figure(f"memory/{contender}", "MB", [repeat["megabytes"] for repeat in repeats]))
    return lowest, found


def growth_figures(pools: Mapping[int, Any], labels: Mapping[int, Any]) -> list[dict[str, Any]]:
    """Figures named `pool/size/what` and `labels/number/train`."""
    found = []
    for size, answer in pools.items():
        turns = answer["turns"][0]
        found.append(figure(f"pool/{size}/tokenise", "s", [answer["tokenise"]]))
        phases = ("score", "select", "round")
        found += [figure(f"pool/{size}/{phase}", "s", [turn[phase] for turn in turns]) for phase in phases]
        found.append(figure(f"pool/{size}/memory", "MB", [answer["megabytes"]]))
    for number, turns in labels.items():
        found.append(figure(f"labels/{number}/train", "s", [turn["train"] for turn in turns]))
    return found


def signal_figures(answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Figures named `signals/task/train`, and in percent of it `signals/task/name`."""
    found = []
    for answer in answers:
        task, train = answer["task"], answer["train"]
        found.append(figure(f"signals/{task}/train", "s", [train]))
        for name, seconds in answer["signals"].items():
            found.append(figure(f"signals/{task}/{name}", "%", [100 * each / train for each in seconds]))
    return found


def _of(turns: Turns, contender: str, task: int) -> list[Mapping[str, Any]]:
    return [repeat["turns"][task] for repeat in turns[contender]]
