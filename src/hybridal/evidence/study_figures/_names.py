"""How tasks, backbones and signals are called in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from hybridal.evidence.looks import distinct_names, look

_KNOWN = {
    "imdb": "IMDb",
    "sst2": "SST-2",
    "jigsaw": "Jigsaw",
    "tweeteval": "TweetEval",
    "agnews": "AG News",
    "yahoo": "Yahoo",
    "trec": "TREC",
    "newsgroups": "20 Newsgroups",
    "distilbert": "DistilBERT",
    "bert": "BERT",
    "roberta": "RoBERTa",
    "minilm": "MiniLM",
    "tiny": "Tiny",
}


def plain(text: str, most: int = 22) -> str:
    """One line of printable characters, as long as a figure can take.

    >>> plain("a\\n b\\x00c"), plain("x" * 30)
    ('a b c', 'xxxxxxxxxxxxxxxxxxxxx…')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "?"
    return line if len(line) <= most else line[: most - 1] + "…"


def labels(names: Iterable[str], most: int = 22) -> dict[str, str]:
    """A short label for each task or backbone; those that would look the same are numbered.

    >>> labels(["imdb", "/data/reviews.csv", "/old/reviews.csv", "org/encoder"])
    {'imdb': 'IMDb', '/data/reviews.csv': 'reviews 1', '/old/reviews.csv': 'reviews 2', 'org/encoder': 'encoder'}
    """
    unique = list(dict.fromkeys(names))
    short = {name: _KNOWN.get(name) or plain(_stem(name), most) for name in unique}
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


def method_names(specs: Iterable[str], short: bool = False) -> dict[str, str]:
    """What the schedules are called, as long as a legend can take; short ones name hybrids by their signal alone.

    >>> method_names(["retrain", "fixed:3", "hybrid:accuracy:0.005:2"])
    {'retrain': 'Retrain', 'fixed:3': 'FixedSwitch@3', 'hybrid:accuracy:0.005:2': 'HybridAL ΔAcc'}
    """
    prefix = "HybridAL " if short else ""
    return {spec: plain(name.removeprefix(prefix), 34) for spec, name in distinct_names(specs).items()}


def signal_name(signal: str) -> str:
    """What a signal is called.

    >>> signal_name("accuracy"), signal_name("weight-distance"), signal_name("mine")
    ('ΔAcc', '‖Δθ‖', 'mine')
    """
    found = look(f"hybrid:{signal}")
    return plain(signal) if found.token == "hybrid" else found.name.removeprefix("HybridAL ")
