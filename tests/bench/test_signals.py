from __future__ import annotations

from bench.figures import signal_figures
from bench.job import Job, Rules, Texts
from bench.signals import REPEATS, costs
from hybridal.signals import SIGNALS


def test_every_signal_is_timed_after_a_real_training() -> None:
    texts = [f"{'good' if row % 2 else 'bad'} text {row}" for row in range(60)]
    labels = [row % 2 for row in range(60)]
    job = Job(
        Texts("made up", ["a", "b"], texts, labels, texts[:20], labels[:20]), "tiny", Rules(labelled=16, epochs=2)
    )
    found = costs(job)
    assert set(found["signals"]) == set(SIGNALS.names())
    assert all(len(seconds) == REPEATS and min(seconds) >= 0 for seconds in found["signals"].values())
    assert found["train"] > 0


def test_costs_are_shares_of_the_training() -> None:
    figures = signal_figures([{"task": "trec", "train": 20.0, "signals": {"alpha": [0.5, 0.4, 1.0]}}])
    assert [each["name"] for each in figures] == ["signals/trec/train", "signals/trec/alpha"]
    assert (figures[1]["value"], figures[1]["high"], figures[1]["unit"]) == (2.5, 5.0, "%")
