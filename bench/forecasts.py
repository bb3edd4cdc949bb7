"""How often 90% forecasts contain the later score, and what stopping by them costs: `python -m bench.forecasts`.

Runs of the learner on nine tasks (results/learners.parquet), and runs with a frozen encoder on skewed tasks
(results/skewed.parquet, from `bench.skewed`) whose validation sets of 10 to 50 texts are drawn here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.skewed import CHOSEN_ON, CONFIRMED_ON
from bench.tables import table
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.advice import advice
from hybridal.measures.forecast import Observation, forecast
from hybridal.randomness import stream

RESULTS = Path(__file__).resolve().parent.parent / "results"
SIZES: Mapping[str, int | None] = {"10 texts": 10, "20 texts": 20, "30 texts": 30, "a tenth, 50 at most": None}
MOST, DRAWS = 50, 2
EVERY = 4  # rounds from one forecast to the next
SAMPLE = 1000  # unlabelled texts that the disagreement of two models is measured on
# The classes of these tasks are not equally frequent: their shares among the test texts.
SHARES: Mapping[str, tuple[float, ...]] = {
    "jigsaw": (0.904, 0.096),
    "sms_spam": (0.865, 0.135),
    "trec": (0.276, 0.188, 0.018, 0.130, 0.162, 0.226),
    "tweeteval": (0.323, 0.483, 0.194),
}


@dataclass(frozen=True)
class Run:
    """The observations of each round, and the true accuracy and macro-F1 after it."""

    seen: Sequence[Observation]
    truth: NDArray[np.float64]
    classes: int


def recorded(runs: pd.DataFrame) -> list[Run]:
    """Runs of results/learners.parquet, a run a task and seed.

    They do not record the validation texts of each class, which are therefore drawn again.
    """
    found = []
    for (task, seed), run in runs.groupby(["task", "seed"], observed=True):
        rounds, classes = run.sort_values("round"), int(run["classes"].iloc[0])
        shares = np.array(SHARES.get(str(task), np.ones(classes)))
        drawn = stream(int(str(seed)), f"validation, {task}").choice(classes, MOST, p=shares / shares.sum())
        seen = [_recorded(record, drawn, classes) for record in rounds.to_dict("records")]
        found.append(Run(seen, rounds[["test_accuracy", "test_f1"]].to_numpy(dtype=float), classes))
    return found


def _recorded(record: Mapping[Hashable, Any], drawn: Ints, classes: int) -> Observation:
    n, moved = int(record["validation_n"]), record["disagreement"]
    support = np.bincount(drawn[:n], minlength=classes)
    # The record's mean is over all classes, those without a text counted as 0.
    f1 = min(1.0, float(record["validation_f1"]) * classes / np.count_nonzero(support)) if n else None
    return Observation(
        int(record["labels"]),
        int(record["validation_right"]),
        n,
        f1,
        None if np.isnan(moved) else float(moved),
        tuple(support.tolist()) if n else (),
    )


def drawn(runs: pd.DataFrame, size: int | None) -> Iterator[Run]:
    """Runs of results/skewed.parquet, each with several validation sets; without a size a tenth of the labels.

    Texts are drawn by the share that each stands for, so that the truth over all of them is the truth of the skew.
    """
    for (task, seed), run in runs.groupby(["task", "seed"], sort=False):
        rounds = run.sort_values("round")
        labels, shares = np.frombuffer(rounds["truth"].iloc[0], np.int8).astype(np.int64), rounds["shares"].iloc[0]
        shares = np.frombuffer(shares)
        weights = shares[labels] / np.bincount(labels)[labels]
        answers = [np.frombuffer(one, np.int8).astype(np.int64) for one in rounds["answers"]]
        truth = np.array([[weights[one == labels].sum(), f1(labels, one, weights)] for one in answers])
        for draw in range(DRAWS):
            rng = stream(int(str(seed)), f"validation, {task}", draw)
            measured, sample = (rng.choice(len(labels), n, p=weights / weights.sum()) for n in (MOST, SAMPLE))
            seen = []
            for i, (one, known) in enumerate(zip(answers, rounds["labels"].tolist(), strict=True)):
                rows = measured[: min(MOST, known // 10) if size is None else size]
                moved = float(np.mean(one[sample] != answers[i - 1][sample])) if i else None
                right = int(np.count_nonzero(one[rows] == labels[rows]))
                support = tuple(np.bincount(labels[rows], minlength=len(shares)).tolist())
                score = f1(labels[rows], one[rows], np.ones(len(rows)))
                seen.append(Observation(known, right, len(rows), score, moved, support))
            yield Run(seen, truth, len(shares))


def f1(labels: Ints, answers: Ints, weights: Floats) -> float:
    """Macro-F1 of weighted texts over the classes that have some.

    >>> f1(np.array([0, 1, 1]), np.array([0, 1, 0]), np.ones(3)).__round__(2)
    0.67
    """
    classes = int(max(labels.max(), answers.max())) + 1
    of, hits, given = (
        np.bincount(rows, some, minlength=classes)
        for rows, some in ((labels, weights), (labels, weights * (labels == answers)), (answers, weights))
    )
    return float((2 * hits / np.maximum(of + given, 1e-12))[of > 0].mean())


def held(run: Run, every: int = 1) -> Iterator[list[bool | None]]:
    """Whether the observed score is inside each interval, two and four rounds later and at the end.

    Rounds without a forecast are left out.
    """
    last = len(run.seen) - 1
    for now in range(1, last, every):
        for later in sorted({min(now + 2, last), min(now + 4, last), last}):
            found = forecast(run.seen[: now + 1], run.seen[later].labels, run.classes)
            if found is None:
                continue
            intervals = (found.accuracy, found.f1, found.accuracy_gain, found.f1_gain)
            came = (*run.truth[later], *(run.truth[later] - run.truth[now]))
            yield [None if i is None else i.low <= t <= i.high for i, t in zip(intervals, came, strict=True)]


def first_forecasts(kinds: Mapping[str, Sequence[Run]], ahead: int = 100) -> str:
    """What the forecast after the first round expects of about 100 more labels, and what they brought, by kind of runs.

    There is no disagreement of models yet.
    """
    rows = []
    for name, runs in kinds.items():
        cells: list[Sequence[float]] = []
        for run in runs:
            labels = [one.labels for one in run.seen]
            later = next(at for at, known in enumerate(labels) if known >= labels[0] + ahead)
            if (found := forecast(run.seen[:1], labels[later], run.classes)) is None:
                continue
            came = run.truth[later] - run.truth[0]
            gains = zip((found.accuracy_gain, found.f1_gain), came, strict=True)
            cells.append(
                [part for gain, true in gains for part in (gain.expected, true, gain.low <= true <= gain.high)]
            )
        means = np.mean(cells, axis=0)
        shown = [f"{100 * mean:.1f}" if at % 3 < 2 else f"{mean:.0%}" for at, mean in enumerate(means)]
        rows.append([name, str(len(cells)), *shown])
    parts = [f"{score}, {column}" for score in ("accuracy", "macro-F1") for column in ("expected", "came", "contained")]
    return table(["runs", "number", *parts], rows)


def stopped(run: Run) -> tuple[float, float]:
    """The macro-F1 lost and the share of labels saved by stopping when the advice says so, against the last round."""
    last = len(run.seen) - 1
    stop = next((at for at in range(last) if advice(run.seen[: at + 1], run.classes).stop), last)
    spent = [run.seen[at].labels + run.seen[at].n for at in (stop, last)]
    return float(run.truth[last, 1] - run.truth[stop, 1]), 1 - spent[0] / spent[1]


def back_test(kinds: Mapping[str, Sequence[Run]], head: str = "validation", every: int = 1) -> str:
    """How often 90% intervals contained the later score, and what stopping by them cost and saved, by kind of runs."""
    rows = []
    for name, runs in kinds.items():
        shares = pd.DataFrame([one for run in runs for one in held(run, every)]).mean()
        covered = ["–" if pd.isna(share) else f"{share:.0%}" for share in shares]
        cost, saved = np.mean([stopped(run) for run in runs], axis=0)
        rows.append([name, *covered, f"{100 * cost:.2f} points", f"{saved:.1%}"])
    return table([head, "accuracy", "macro-F1", "gain in accuracy", "gain in F1", "F1 lost", "labels saved"], rows)


def tables() -> dict[str, str]:
    """The back-tests on skewed tasks, by name: with validation sets of several sizes, and by task."""
    records = pd.read_parquet(RESULTS / "skewed.parquet")
    parts = {"seven tasks, chosen on": CHOSEN_ON, "five others": CONFIRMED_ON}
    by_size = {
        f"{size}; {words}": [*drawn(records[records["task"].isin(tasks)], n)]
        for words, tasks in parts.items()
        for size, n in SIZES.items()
    }
    by_task = {f"`{task}`": [*drawn(records[records["task"] == task], 20)] for task in records["task"].unique()}
    return {
        "skewed tasks": back_test(by_size, "validation", EVERY),
        "skewed tasks, 20 validation texts": back_test(by_task, "task", EVERY),
    }


def main() -> None:
    for name, text in tables().items():
        print(f"\n{name}\n\n{text}", flush=True)


if __name__ == "__main__":
    main()
