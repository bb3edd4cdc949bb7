"""What schedules, signals, tasks, backbones and acquisitions are called and how they look: the same everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from hybridal.evidence.formats import plain, threshold


@dataclass(frozen=True)
class Look:
    """What one kind of schedule looks like; `light` and `dark` are its colour on a light and on a dark page."""

    token: str
    name: str
    light: str
    dark: str
    marker: str


# Contrast is 3:1 or more on white paper and on dark pages. Auto, Retrain, FineTune, FixedSwitch and the paper's two
# hybrids, which stand side by side most often, stay apart for red- and green-blind readers too; among all, shapes
# repeat what colours say, for prints without any colour as well.
_LOOKS = (
    Look("auto", "Auto", "#1b1035", "#f4eb25", "*"),
    Look("retrain", "Retrain", "#1577c8", "#7cc4ff", "o"),
    Look("finetune", "FineTune", "#c84e00", "#ff9254", "s"),
    Look("newonly", "NewOnly", "#8a5a44", "#cfa48f", "v"),
    Look("anchor", "Anchor", "#a87900", "#e8b93a", "p"),
    Look("replay", "Replay", "#c2458a", "#f28fc2", "h"),
    Look("refit", "Refit", "#b02fd1", "#e79bff", "d"),
    Look("fixed", "FixedSwitch", "#8b9099", "#c4cad3", "D"),
    Look("hybrid-accuracy", "HybridAL ΔAcc", "#5218a0", "#9a66ff", "^"),
    Look("hybrid-alpha", "HybridAL Δα", "#006652", "#1fa187", "P"),
    Look("hybrid-alpha-tail", "HybridAL Δα tail", "#5b8a00", "#a8d94a", "X"),
    Look("hybrid-f1", "HybridAL ΔF1", "#a3195b", "#f06fa6", "<"),
    Look("hybrid-loss", "HybridAL ΔLoss", "#7a7a00", "#c9c94c", ">"),
    Look("hybrid-cka", "HybridAL ΔCKA", "#117733", "#6cc487", "d"),
    Look("hybrid-nc", "HybridAL ΔNC", "#0e7c9b", "#5ccbe6", "H"),
    Look("hybrid-nc-labelled", "HybridAL ΔNC labelled", "#3d6b7a", "#8fb9c7", "h"),
    Look("hybrid-gradient-norm", "HybridAL ‖∇L‖", "#b5483b", "#f09084", "8"),
    Look("hybrid-weight-distance", "HybridAL ‖Δθ‖", "#4b5fbf", "#98a8f5", "*"),
    Look("hybrid-agreement", "HybridAL ΔAgreement", "#1f3fe0", "#6f88ff", "<"),
    Look("hybrid-divergence", "HybridAL JS divergence", "#8f0f2f", "#ff5c6c", ">"),
    Look("hybrid-drift", "HybridAL drift", "#6b2a00", "#ffd3a6", "v"),
    Look("hybrid", "HybridAL", "#4a5a6a", "#c3d0dd", "^"),
    Look("other", "", "#4a4a4a", "#cfcfcf", "o"),
)
LOOKS = {look.token: look for look in _LOOKS}

# What matplotlib draws with in turn when a schedule's family appears more than once in a figure.
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
_BACKBONES = {"distilbert": "DistilBERT", "bert": "BERT", "roberta": "RoBERTa", "minilm": "MiniLM", "tiny": "Tiny"}
_ACQUISITIONS = {"badge": "BADGE", "bald": "BALD", "cal": "CAL", "coreset": "CoreSet", "typiclust": "TypiClust"}
_LETTERS = {"retrain": "R", "finetune": "F", "newonly": "N", "anchor": "A", "replay": "P", "refit": "H"}


def look(spec: str) -> Look:
    """The look of a schedule's family; an update is a family too.

    >>> look("hybrid:alpha:0.0001:3").token, look("fixed:5").light, look("hybrid:mine").token, look("theirs:1").token
    ('hybrid-alpha', '#8b9099', 'hybrid', 'other')
    """
    family, *arguments = spec.strip().lower().replace("_", "-").split(":")
    if family == "hybrid":
        return LOOKS.get(f"hybrid-{arguments[0] if arguments else 'accuracy'}", LOOKS["hybrid"])
    return LOOKS["other"] if family not in LOOKS else LOOKS[family]


def schedule_name(spec: str) -> str:
    """What people call a schedule.

    >>> [schedule_name(s) for s in ("hybrid:accuracy:0.005:2", "fixed:10", "anchor:0.6", "hybrid:mine:1:2", "theirs:1")]
    ['HybridAL ΔAcc', 'FixedSwitch@10', 'Anchor 0.6', 'HybridAL mine', 'theirs:1']
    """
    found, arguments = look(spec), spec.split(":")[1:]
    if found.token == "other":
        return spec
    if found.token.startswith("hybrid"):
        return f"HybridAL {arguments[0]}" if found.token == "hybrid" else found.name
    mark = "@" if found.token == "fixed" else " "
    return mark.join([found.name, *arguments])


def distinct_names(specs: Iterable[str]) -> dict[str, str]:
    """The name of each schedule, with ε and k only where two would be called the same.

    >>> list(distinct_names(["retrain", "hybrid:accuracy:0.005:2", "hybrid:accuracy:0.01:3"]).values())
    ['Retrain', 'HybridAL ΔAcc (ε=0.005, k=2)', 'HybridAL ΔAcc (ε=0.01, k=3)']
    """
    short = {spec: schedule_name(spec) for spec in specs}
    seen = Counter(short.values())
    return {spec: name if seen[name] == 1 else f"{name} ({_parameters(spec)})" for spec, name in short.items()}


def method_names(specs: Iterable[str], short: bool = False) -> dict[str, str]:
    """The names as long as a legend can take; short ones name hybrids by their signal alone.

    >>> method_names(["retrain", "fixed:3", "hybrid:accuracy:0.005:2"], short=True)
    {'retrain': 'Retrain', 'fixed:3': 'FixedSwitch@3', 'hybrid:accuracy:0.005:2': 'ΔAcc'}
    """
    prefix = "HybridAL " if short else ""
    return {spec: plain(name.removeprefix(prefix), 34) for spec, name in distinct_names(specs).items()}


def signal_name(signal: str) -> str:
    """What a signal is called.

    >>> signal_name("accuracy"), signal_name("weight-distance"), signal_name("mine")
    ('ΔAcc', '‖Δθ‖', 'mine')
    """
    return schedule_name(f"hybrid:{signal}").removeprefix("HybridAL ")


def task_names(tasks: Iterable[str]) -> dict[str, str]:
    """The benchmarks as the paper writes them, a file by its name alone unless two would be called the same.

    >>> task_names(["agnews", "mails/spam.csv", "a/x.csv", "b/x.csv"])
    {'agnews': 'AG News', 'mails/spam.csv': 'spam', 'a/x.csv': 'a/x.csv', 'b/x.csv': 'b/x.csv'}
    """
    short = {task: _TASKS.get(task, PurePath(task).stem or task) for task in tasks}
    seen = Counter(short.values())
    return {task: name if seen[name] == 1 else task for task, name in short.items()}


def backbone_name(backbone: str) -> str:
    """A backbone as the paper writes it; of a folder or a hub id, all of it: the last part may not tell enough."""
    return _BACKBONES.get(backbone, backbone)


def acquisition_name(acquisition: str) -> str:
    """An acquisition in words.

    >>> acquisition_name("entropy"), acquisition_name("badge"), acquisition_name("least-confidence")
    ('Entropy', 'BADGE', 'Least confidence')
    """
    words = acquisition.replace("-", " ")
    return _ACQUISITIONS.get(acquisition, words[:1].upper() + words[1:])


def short_labels(names: Iterable[str], most: int = 22) -> dict[str, str]:
    """A label for each task or backbone that a figure has room for; those that would look the same are numbered.

    >>> short_labels(["imdb", "/data/reviews.csv", "/old/reviews.csv", "org/encoder"])
    {'imdb': 'IMDb', '/data/reviews.csv': 'reviews 1', '/old/reviews.csv': 'reviews 2', 'org/encoder': 'encoder'}
    """
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
    return PurePath(last).stem if "/" in name or last.endswith((".csv", ".jsonl", ".parquet", ".tsv")) else name


def distinct_markers(specs: Iterable[str]) -> dict[str, str]:
    """A marker for each schedule: its family's own, or another where the family comes more than once.

    >>> distinct_markers(["retrain", "fixed:5", "fixed:10"])
    {'retrain': 'o', 'fixed:5': 'D', 'fixed:10': 'o'}
    """
    found: dict[str, str] = {}
    taken: dict[str, list[str]] = {}
    for spec in specs:
        kin = taken.setdefault(look(spec).token, [])
        own = look(spec).marker
        free = [marker for marker in (own, *MARKERS) if marker not in kin] or [own]
        kin.append(free[0])
        found[spec] = free[0]
    return found


def letter(update: str) -> str:
    """The letter that stands for an update in a word.

    >>> [letter(u) for u in ("retrain", "finetune", "refit", "replay:equal:balanced", "theirs")]
    ['R', 'F', 'H', 'P', 'T']
    """
    name = update.split(":")[0]
    return _LETTERS.get(name, name[:1].upper() or "?")


def _parameters(spec: str) -> str:
    arguments = spec.split(":")[2:]
    if len(arguments) != 2:
        return spec
    try:
        return f"ε={threshold(float(arguments[0]))}, k={arguments[1]}"
    except ValueError:
        return spec
