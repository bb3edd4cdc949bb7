from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.core.rounds import Metrics, Round
from hybridal.lab.reports.study_report import _guessed, study_story
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_results import Results, results

from .studies import write_study


def guessing_study(path: Path, guesses: bool) -> Results:
    """A study without test texts, whose models always answer the same of two classes, or not."""

    def measured(record: Round) -> Round:
        right = 500 if guesses else 800
        ends = Metrics(1000, right, right / 1000, 0.177, 0.7, 0.1, 0.5, 0.7, 0.1, support=(500, 500))
        return replace(record, validation=ends, test=None)

    study = Study("example", ("imdb",), ("retrain", "finetune"), seeds=(1, 2), overrides={"rounds": 2})
    return results(write_study(path, study, measured))


def test_a_study_of_models_that_guess_praises_no_saving(tmp_path: Path) -> None:
    told = " ".join(study_story(guessing_study(tmp_path / "guess", guesses=True)))
    assert "Retrain: none of its models is shown to be better than guessing the most frequent class." in told
    assert "FineTune: none of its models" in told
    assert "optimiser steps" not in told


def test_a_study_without_test_texts_compares_validation(tmp_path: Path) -> None:
    told = " ".join(study_story(guessing_study(tmp_path / "good", guesses=False)))
    assert "guessing" not in told
    assert "macro-F1 0.177 against 0.177" in told
    assert "nan" not in told


def test_equal_steps_are_no_saving(tmp_path: Path) -> None:
    found = guessing_study(tmp_path / "good", guesses=False)
    same = replace(found, runs=found.runs.assign(steps=100))
    assert "FineTune: as many optimiser steps as Retrain, NLL 0.700" in " ".join(study_story(same))


@pytest.mark.parametrize(
    ("guesses", "runs", "words"),
    [
        (1, 1, "its model is not"),
        (4, 4, "none of its models is"),
        (1, 4, "1 of its 4 models is not"),
        (2, 4, "2 of its 4 models are not"),
    ],
)
def test_number_of_guessing_models_is_in_words(guesses: int, runs: int, words: str) -> None:
    assert _guessed("retrain", guesses, runs).startswith(f"Retrain: {words} shown to be better than guessing")
