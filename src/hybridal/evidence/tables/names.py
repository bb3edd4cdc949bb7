"""What tasks, backbones and acquisitions are called in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

_TASKS = {
    "imdb": "IMDb",
    "sst2": "SST-2",
    "jigsaw": "Jigsaw",
    "tweeteval": "TweetEval",
    "agnews": "AG News",
    "yahoo": "Yahoo",
    "newsgroups": "Newsgroups",
}
_BACKBONES = {"distilbert": "DistilBERT", "bert": "BERT", "roberta": "RoBERTa", "minilm": "MiniLM", "tiny": "Tiny"}
_ACQUISITIONS = {"badge": "BADGE", "bald": "BALD", "cal": "CAL", "coreset": "CoreSet", "typiclust": "TypiClust"}


def task_names(tasks: Iterable[str]) -> dict[str, str]:
    """The benchmarks as the paper writes them, a file by its name alone unless two would be called the same.

    >>> task_names(["agnews", "mails/spam.csv", "a/x.csv", "b/x.csv"])
    {'agnews': 'AG News', 'mails/spam.csv': 'spam', 'a/x.csv': 'a/x.csv', 'b/x.csv': 'b/x.csv'}
    """
    short = {task: _TASKS.get(task, PurePath(task).stem or task) for task in tasks}
    seen = Counter(short.values())
    return {task: name if seen[name] == 1 else task for task, name in short.items()}


def backbone_name(backbone: str) -> str:
    """A backbone as the paper writes it; of a folder or a hub id, all of it: the last part may not tell enough.

    >>> backbone_name("distilbert"), backbone_name("my/encoder")
    ('DistilBERT', 'my/encoder')
    """
    return _BACKBONES.get(backbone, backbone)


def acquisition_name(acquisition: str) -> str:
    """An acquisition in words.

    >>> acquisition_name("entropy"), acquisition_name("badge"), acquisition_name("least-confidence")
    ('Entropy', 'BADGE', 'Least confidence')
    """
    plain = acquisition.replace("-", " ")
    return _ACQUISITIONS.get(acquisition, plain[:1].upper() + plain[1:])
