"""`make bench`, or `python -m bench.cpu`: this engine and its peers on the processor, side by side.

Writes bench/results/cpu.json and the tables of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench import page
from bench.compare import CONTENDERS, HERE, compare
from bench.figures import comparison, growth_figures, signal_figures
from bench.job import Job, Rules, dump_jobs
from bench.machine import describe
from bench.process import ROOT, run
from bench.screen import Screen
from bench.signals import RULES as FIRST_ROUND
from bench.texts import deal, find_tasks
from hybridal.backbones import load_backbone
from hybridal.errors import UserError
from hybridal.system.files import strict_json, write_whole

QUICK = Rules(labelled=16, candidates=64, validation=16, epochs=1)
POOLS, MILLION = (1_000, 10_000, 100_000), 1_000_000
LABELS = (100, 200, 400, 800)
RESULT = ROOT / "bench" / "results" / "cpu.json"


def main(words: Sequence[str] | None = None) -> int:
    """Measure the requested parts, or print in one sentence why it is not possible."""
    parser = arguments()
    asked = parser.parse_args(words)
    if asked.repeats < 1:
        parser.error("--repeats: at least once")
    rules, repeats = (QUICK, 1) if asked.quick else (Rules(), asked.repeats)
    pools = POOLS[:1] if asked.quick else (*POOLS, MILLION) if asked.full else POOLS
    try:
        tasks = find_tasks(print)
        backbone = str(load_backbone("minilm", tasks[0], print).folder)
        jobs = [Job(deal(task, rules), backbone, rules) for task in tasks]
        watched = [Job(deal(task, FIRST_ROUND), backbone, FIRST_ROUND) for task in tasks] if asked.full else []
        with Screen(repeats * len(CONTENDERS) + len(pools) + 1 + len(watched)) as screen:
            ratios, figures = comparison(compare(jobs, repeats, screen))
            figures += growth(list(tasks[0].train.texts), pools, screen)
            figures += signal_costs(watched, screen)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for name, value in ratios.items():
        print(f"{name:22s} {value:5.2f}")
    if asked.quick:
        print("Everything works. These were tiny jobs, played once: nothing is written.")
        return 0
    result = {"machine": describe(), "ratios": ratios, "rules": asdict(rules), "figures": figures}
    RESULT.parent.mkdir(exist_ok=True)
    write_whole(RESULT, strict_json(result, indent=1) + "\n")
    page.main()
    return 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.cpu", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="how often each contender plays (default: 3)")
    parser.add_argument("--quick", action="store_true", help="tiny jobs, to see that everything works")
    parser.add_argument("--full", action="store_true", help="also a million texts, and every signal; minutes more")
    return parser


def growth(texts: list[str], pools: Sequence[int], screen: Screen) -> list[dict[str, Any]]:
    """Only for our engine: rounds over growing pools, each in a separate process, then with more labels."""
    answers = {}
    for pool in pools:
        with screen.step(f"a pool of {pool:,}"):
            few = 3 if pool < max(POOLS) else 1
            asked = {"texts": texts, "pool": pool, "labels": [32], "repeats": few}
            answers[pool] = run(HERE, "bench.growth", json.dumps(asked))
    with screen.step(f"up to {max(LABELS)} labels"):
        asked = {"texts": texts, "pool": 1_000, "labels": LABELS, "repeats": 3}
        labels = run(HERE, "bench.growth", json.dumps(asked))
    return growth_figures(answers, dict(zip(LABELS, labels["turns"], strict=True)))


def signal_costs(jobs: Sequence[Job], screen: Screen) -> list[dict[str, Any]]:
    """Only for our engine: seconds per signal, compared with the training of a round."""
    answers = []
    for job in jobs:
        with screen.step(f"the signals, {job.texts.name}"):
            answers.append(run(HERE, "bench.signals", dump_jobs([job])))
    return signal_figures(answers)


if __name__ == "__main__":
    sys.exit(main())
