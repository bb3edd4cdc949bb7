"""Find look-alikes among 200,000 texts: `OMP_NUM_THREADS=1 python -m bench.look_alikes FILE --text text`.

Texts of the file, and copies of them of which words were replaced, in a random order. Brute force compares some of the
texts with all first texts of groups, to count the look-alikes that were missed. The figures go to
bench/results/look-alikes.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bench.machine import describe
from hybridal.measures.look_alikes import SIMILARITY, Hashes, look_alikes, normalised, shingles, similarity

CHECKED = 50  # texts that brute force compares with all others


def copies(texts: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    """Copies of random texts of which up to three words are replaced by words of other texts."""
    words = [word for text in texts[:2000] for word in text.split()]
    found = []
    for at in rng.integers(0, len(texts), n):
        copy = texts[at].split() or [""]
        for _ in range(rng.integers(0, 4)):
            copy[rng.integers(len(copy))] = words[rng.integers(len(words))]
        found.append(" ".join(copy))
    return found


def missed(texts: Sequence[str], groups: np.ndarray, rng: np.random.Generator) -> tuple[int, int]:
    """How many of some texts that began a group are similar to the first text of an earlier group, and of how many."""
    firsts = np.flatnonzero(groups == np.arange(len(texts)))
    some = rng.choice(firsts, CHECKED, replace=False)
    compared = [(at, shingles(texts[at])) for at in some.tolist()]
    found: set[int] = set()
    for first in firsts.tolist():
        its = shingles(texts[first])
        found.update(at for at, of_it in compared if first < at and _are_similar(its, of_it))
    return len(found), CHECKED


def _are_similar(one: Hashes, other: Hashes) -> bool:
    sizes = sorted((len(one), len(other)))
    return sizes[0] >= SIMILARITY * sizes[1] and similarity(one, other) >= SIMILARITY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--text", default="text")
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=Path("bench/results/look-alikes.json"))
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    read = pd.read_parquet if asked.file.suffix == ".parquet" else pd.read_csv
    own = read(asked.file)[asked.text].astype(str).tolist()[: asked.texts]
    texts = [*own, *copies(own, asked.texts - len(own), rng)]
    texts = [texts[at] for at in rng.permutation(len(texts))]
    before, start, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time(), time.monotonic()
    groups = look_alikes(texts)
    found = {
        "texts": len(texts),
        "characters": round(float(np.mean([len(text) for text in texts])), 1),
        "cpu_seconds": round(time.process_time() - start, 1),
        "seconds": round(time.monotonic() - clock, 1),
        "memory_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024,
        "texts_in_groups": int((np.bincount(groups)[groups] > 1).sum()),
        "equal_texts": len(texts) - len({normalised(text) for text in texts}),
        "missed": "{} of {}".format(*missed(texts, groups, rng)),
        "machine": describe(),
    }
    asked.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
