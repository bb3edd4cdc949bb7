"""The endpoints that the paper reports, as data, under our names."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from hybridal.backbones.load import HUB_IDS
from hybridal.evidence.tables._schedules import schedule_of
from hybridal.schedules.fixed import FixedSwitch
from hybridal.schedules.hybrid import HybridAL
from hybridal.tasks.mirror import same_name

_TASKS = {"yahoo_answers": "yahoo", "yahoo_answers_topics": "yahoo", "tweet_eval": "tweeteval"}
_METHODS = {"retrain": "Retrain", "finetune": "FineTune", "newonly": "NewOnly"}
_SIGNALS = {"alpha": "HybridAL_alpha", "accuracy": "HybridAL_acc"}
_COMPARABLE = "consistent"


@dataclass(frozen=True)
class Spread:
    """A mean over n seeds and their standard deviation, None where there is none."""

    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class Endpoint:
    """What the paper reports of one method on one task; `time_class` says on what kind of machine it was timed."""

    backbone: str
    method: str
    task: str
    f1: Spread
    nll: Spread
    seconds: Spread
    t_star: float | None
    time_class: str

    @property
    def time_is_comparable(self) -> bool:
        """Whether its seconds may be compared with other published ones."""
        return self.time_class == _COMPARABLE


@cache
def published() -> tuple[Endpoint, ...]:
    """All published endpoints, their tasks and backbones under our names.

    >>> found = published()
    >>> len(found), found[0].backbone, found[0].method, found[0].task, found[0].f1
    (162, 'distilbert', 'Retrain', 'imdb', Spread(mean=0.819, std=0.021, n=5))
    >>> sum(not endpoint.time_is_comparable for endpoint in found)
    54
    """
    text = (files("hybridal.evidence") / "data" / "paper_endpoints.csv").read_text(encoding="utf-8")
    return tuple(_endpoint(row) for row in csv.DictReader(text.splitlines()))


def published_method(spec: str) -> str | None:
    """What the paper calls a schedule, whatever its ε and k; None where it has none like it.

    >>> published_method("hybrid:alpha:0.0002:5"), published_method("fixed:5"), published_method("hybrid:cka")
    ('HybridAL_alpha', 'FixedSwitch_5', None)
    """
    schedule = schedule_of(spec)
    if isinstance(schedule, HybridAL):
        return _SIGNALS.get(schedule.signal.name)
    if isinstance(schedule, FixedSwitch):
        return f"FixedSwitch_{schedule.first}"
    return _METHODS.get(spec)


def known_task(name: str) -> str:
    """A task however it is spelt.

    >>> known_task("ag_news"), known_task("AG-News"), known_task("yahoo_answers"), known_task("SST-2")
    ('agnews', 'agnews', 'yahoo', 'sst2')
    """
    return _SPELT.get(same_name(name), name)


def known_backbone(name: str) -> str:
    """A backbone by its short name, whether it was named so, or by its id on the hub.

    >>> known_backbone("DistilBERT"), known_backbone("google-bert/bert-base-uncased"), known_backbone("roberta-base")
    ('distilbert', 'bert', 'roberta')
    """
    lower = name.lower()
    for short, hub_id in HUB_IDS.items():
        if lower in (short, hub_id.lower(), hub_id.lower().split("/")[-1]):
            return short
    return name


def _endpoint(row: Mapping[str, str]) -> Endpoint:
    n = int(row["n_seeds"])

    def spread(name: str) -> Spread:
        return Spread(float(row[f"{name}_mean"]), float(row[f"{name}_std"]), n)

    t_star = row["mean_switch_round_of_firing_seeds"]
    return Endpoint(
        backbone=known_backbone(row["backbone"]),
        method=row["method"],
        task=known_task(row["dataset"]),
        f1=spread("test_f1"),
        nll=spread("test_nll"),
        seconds=spread("train_time_s"),
        t_star=float(t_star) if t_star else None,
        time_class=row["time_class"],
    )


_SPELT = {same_name(spelt): task for spelt, task in _TASKS.items()}
_SPELT |= {same_name(task): task for task in ("imdb", "jigsaw", "sst2", "tweeteval", "agnews", "yahoo")}
