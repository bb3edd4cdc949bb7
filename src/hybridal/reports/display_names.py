"""Display names of schedules, tasks, backbones and acquisitions, and the styles of schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath

from hybridal.errors import UserError
from hybridal.reports.number_formats import plain, threshold
from hybridal.schedules import Schedule, make_schedule
from hybridal.tasks.read import READERS
from hybridal.updates import UPDATES


@dataclass(frozen=True)
class Style:
    """Marker and colours of one kind of schedule, on light and dark pages; `token` names it in CSS."""

    token: str
    light: str
    dark: str
    marker: str


# Contrast is 3:1 or more on white paper and on dark pages. Auto, Retrain, FineTune, FixedSwitch and the paper's two
# hybrids, which stand side by side most often, stay apart for red- and green-blind readers too; among all, shapes
# repeat what colours say, for prints without any colour as well. Schedules that switch by a signal look like it.
_STYLES = (
    Style("auto", "#1b1035", "#f4eb25", "*"),
    Style("retrain", "#1577c8", "#7cc4ff", "o"),
    Style("finetune", "#c84e00", "#ff9254", "s"),
    Style("newonly", "#8a5a44", "#cfa48f", "v"),
    Style("anchor", "#a87900", "#e8b93a", "p"),
    Style("replay", "#c2458a", "#f28fc2", "h"),
    Style("refit", "#b02fd1", "#e79bff", "d"),
    Style("fixed", "#8b9099", "#c4cad3", "D"),
    Style("hybrid-accuracy", "#5218a0", "#9a66ff", "^"),
    Style("hybrid-alpha", "#006652", "#1fa187", "P"),
    Style("hybrid-alpha-tail", "#5b8a00", "#a8d94a", "X"),
    Style("hybrid-f1", "#a3195b", "#f06fa6", "<"),
    Style("hybrid-loss", "#7a7a00", "#c9c94c", ">"),
    Style("hybrid-cka", "#117733", "#6cc487", "d"),
    Style("hybrid-nc", "#0e7c9b", "#5ccbe6", "H"),
    Style("hybrid-nc-labelled", "#3d6b7a", "#8fb9c7", "h"),
    Style("hybrid-gradient-norm", "#b5483b", "#f09084", "8"),
    Style("hybrid-weight-distance", "#4b5fbf", "#98a8f5", "*"),
    Style("hybrid-agreement", "#1f3fe0", "#6f88ff", "<"),
    Style("hybrid-divergence", "#8f0f2f", "#ff5c6c", ">"),
    Style("hybrid-drift", "#6b2a00", "#ffd3a6", "v"),
    Style("hybrid", "#4a5a6a", "#c3d0dd", "^"),
    Style("other", "#4a4a4a", "#cfcfcf", "o"),
)
STYLES = {style.token: style for style in _STYLES}

# Markers to use in turn if a family of schedules occurs more than once in a figure.
MARKERS = "osD^vPXph*<>"

_TASKS = {
    "imdb": "IMDb",
    "sst2": "SST-2",
    "jigsaw": "Jigsaw",
    "tweeteval": "TweetEval",
    "agnews": "AG News",
    "yahoo": "Yahoo",
    "trec": "TREC",
    "newsgroups": "20 Newsgroups",
}
_BACKBONES = {
    "distilbert": "DistilBERT",
    "bert": "BERT",
    "roberta": "RoBERTa",
    "minilm": "MiniLM",
    "mpnet": "MPNet",
    "gte-small": "GTE small",
    "bge-small": "BGE small",
    "e5-small": "E5 small",
    "multilingual-e5-small": "Multilingual E5 small",
    "tiny": "Tiny",
}
_ACQUISITIONS = {"badge": "BADGE", "bald": "BALD", "cal": "CAL", "coreset": "CoreSet", "typiclust": "TypiClust"}


@cache
def schedule_of(spec: str) -> Schedule:
    """Return the schedule of a spec, cached, because making one searches the entry points of all packages."""
    return make_schedule(spec)


def _installed(spec: str) -> Schedule | None:
    try:
        return schedule_of(spec)
    except UserError:
        return None


def style_of(spec: str) -> Style:
    """Return the style of the family of a schedule or an update."""
    schedule = _installed(spec)
    if schedule is not None and schedule.rule is not None:
        return STYLES.get(f"hybrid-{schedule.rule.signal.name}", STYLES["hybrid"])
    return STYLES.get(spec.strip().lower().replace("_", "-").split(":")[0], STYLES["other"])


def schedule_name(spec: str) -> str:
    """Return the name of a schedule, such as FixedSwitch@10; its spec if it is not installed."""
    schedule = _installed(spec)
    return spec if schedule is None else schedule.title


def distinct_names(specs: Iterable[str]) -> dict[str, str]:
    """Return a distinct name for each schedule, with ε and k or the spec only if two names would be equal."""
    names = {spec: schedule_name(spec) for spec in specs}
    for parameters in (_epsilon_and_k, str):
        seen = Counter(names.values())
        names = {
            spec: name if seen[name] == 1 else f"{schedule_name(spec)} ({parameters(spec)})"
            for spec, name in names.items()
        }
    return names


def _epsilon_and_k(spec: str) -> str:
    schedule = _installed(spec)
    detector = schedule.rule.detector if schedule is not None and schedule.rule is not None else None
    return f"ε={threshold(detector.epsilon)}, k={detector.patience}" if detector else spec


def method_names(specs: Iterable[str], short: bool = False) -> dict[str, str]:
    """Return names for a legend; short ones name hybrids by their signal only."""
    prefix = "HybridAL " if short else ""
    return {spec: plain(name.removeprefix(prefix), 34) for spec, name in distinct_names(specs).items()}


def task_names(tasks: Iterable[str]) -> dict[str, str]:
    """Return names of tasks: benchmarks as in the paper, files by their name unless two would be equal."""
    short = {task: _TASKS.get(task, PurePath(task).stem or task) for task in tasks}
    seen = Counter(short.values())
    return {task: name if seen[name] == 1 else task for task, name in short.items()}


def backbone_name(backbone: str) -> str:
    """Return the name of a backbone: as in the paper, or the full folder or hub id."""
    return _BACKBONES.get(backbone, backbone)


def acquisition_name(acquisition: str) -> str:
    """An acquisition in words: `least-confidence` is Least confidence, `badge` is BADGE."""
    words = acquisition.replace("-", " ")
    return _ACQUISITIONS.get(acquisition, words[:1].upper() + words[1:])


def short_labels(names: Iterable[str], most: int = 22) -> dict[str, str]:
    """Return a short label for each task or backbone; equal ones are numbered."""
    known = _TASKS | _BACKBONES
    short = {name: known.get(name) or plain(_stem(name), most) for name in dict.fromkeys(names)}
    seen, count = Counter(short.values()), Counter[str]()
    for name, label in short.items():
        if seen[label] > 1:
            count[label] += 1
            short[name] = f"{label} {count[label]}"
    return short


def _stem(name: str) -> str:
    """The last part of a path or of a hub id, without the ending of a file."""
    last = name.rstrip("/").rpartition("/")[2]
    return PurePath(last).stem if "/" in name or last.endswith(tuple(READERS)) else name


def distinct_markers(specs: Iterable[str]) -> dict[str, str]:
    """Return a marker for each schedule: that of its family, or another if the family occurs more than once."""
    found: dict[str, str] = {}
    taken: dict[str, list[str]] = {}
    for spec in specs:
        kin = taken.setdefault(style_of(spec).token, [])
        own = style_of(spec).marker
        free = [marker for marker in (own, *MARKERS) if marker not in kin] or [own]
        kin.append(free[0])
        found[spec] = free[0]
    return found


@cache
def letter(update: str) -> str:
    """Return the letter of an update in update sequences; its first letter if it is not installed."""
    try:
        return UPDATES.make(update).letter[:1]
    except UserError:
        return update[:1].upper() or "?"
