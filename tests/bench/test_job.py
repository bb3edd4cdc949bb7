from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.job import Job, Rules, Texts, dump_jobs, load_jobs


def job(labelled: int = 20, candidates: int = 70) -> Job:
    rows = range(labelled + candidates)
    texts = Texts("t", ["a", "b"], [f"text {row}" for row in rows], [row % 2 for row in rows], ["v"] * 30, [1] * 30)
    return Job(texts, "folder", Rules(labelled=labelled, candidates=candidates, validation=30))


def test_jobs_come_back_as_they_were_written() -> None:
    assert load_jobs(dump_jobs([job(), job(5, 6)])) == [job(), job(5, 6)]


@given(labelled=st.integers(1, 200), batch=st.integers(1, 40), epochs=st.integers(1, 5))
def test_steps_equal_a_loop_over_batches(labelled: int, batch: int, epochs: int) -> None:
    steps = sum(1 for _ in range(epochs) for _ in range(0, labelled, batch))
    assert Rules(labelled=labelled, batch=batch, epochs=epochs).steps == steps


def test_a_small_job_has_as_many_texts_as_its_rules_say() -> None:
    small = job().small()
    assert len(small.texts.train) == len(small.texts.train_labels) == small.rules.labelled + small.rules.candidates
    assert len(small.texts.validation) == len(small.texts.validation_labels) == small.rules.validation
    assert len(small.labels) == small.rules.labelled


def test_the_labels_of_a_job_are_those_of_its_first_texts() -> None:
    assert job(labelled=3).labels == [0, 1, 0]
