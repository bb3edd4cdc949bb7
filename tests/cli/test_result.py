from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.cli.result import decision, print_result, result, with_shown_figures
from hybridal.cli.result import tested as words_of_test
from hybridal.core.rounds import Metrics, Round
from hybridal.measures.advice import advise, texts_left
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.testing.small import toy_task

from .made_up import EnoughLabels, ReplaysOnceSettled, history_of, with_several_labels


def test_with_several_labels_each_figure_has_its_own_name() -> None:
    (record,) = with_several_labels(history_of("R", [None]))
    assert record.test is not None
    assert words_of_test(record.test) == (
        "Test: macro-F1 0.600 (0.474 to 0.714), micro-F1 0.700 (0.575 to 0.801), LRAP 0.800, exact match 0.350 "
        "(0.242 to 0.476), Hamming loss 0.120, NLL 0.400 (scaled 0.350) on 60 texts."
    )
    shown = with_shown_figures(record)["test"]
    assert (shown["macro_f1"], shown["exact_match"], "accuracy" in shown) == (0.6, 0.35, False)


@pytest.mark.parametrize(
    ("spec", "history", "sentence"),
    [
        (
            "hybrid:accuracy:0.05:2",
            history_of("RRRF", [None, 0.01, 0.02, 0.5]),
            "Switch: accuracy changed by less than 0.05 in 2 consecutive rounds, up to round 3; "
            "fine-tuning from round 4 on.",
        ),
        (
            "hybrid:accuracy:0.05:1",
            history_of("RRFF", [None, 0.01, 0.02, 0.5]),
            "Switch: accuracy changed by less than 0.05 in 1 round, up to round 2; fine-tuning from round 3 on.",
        ),
        (
            "hybrid:accuracy:0.05:2",
            history_of("RRRR", [None, 0.01, 0.2, 0.01]),
            "No switch: accuracy never changed by less than 0.05 in 2 consecutive rounds; each round retrained.",
        ),
        (
            "hybrid:accuracy:0.05:2",
            history_of("RRRR", [None, 0.2, 0.01, 0.01]),
            "No switch yet: accuracy changed by less than 0.05 in 2 consecutive rounds, but only in round 4, the last; "
            "each round retrained.",
        ),
        ("fixed:3", history_of("RRFF", [None, 0.0, 0.0, 0.0]), "Schedule fixed:3: every round as planned, RRFF."),
        (
            EnoughLabels(16).spec,
            history_of("RRFF", [None, 0.0, 0.0, 0.0]),
            f"Schedule {EnoughLabels(16).spec}: switched after round 2, RRFF.",
        ),
        (
            ReplaysOnceSettled.spec,
            [*history_of("RRR", [None, 0.01, 0.02]), replace(history_of("RRRF", [None] * 4)[3], update="replay:96")],
            "Switch: accuracy changed by less than 0.05 in 2 consecutive rounds, up to round 3; "
            "replay:96 from round 4 on.",
        ),
    ],
    ids=[
        "switch",
        "switch after one round",
        "no switch",
        "switch in the last round",
        "not a hybrid",
        "own",
        "own by our rule",
    ],
)
def test_the_decision_in_a_sentence(spec: str, history: Sequence[Round], sentence: str) -> None:
    assert decision(make_schedule(spec), history) == sentence


def automatic(reasons: Mapping[int, str], sequence: str = "RRRRRR") -> list[Round]:
    """A run of `auto` that retrained in these rounds, watched agreement, and replayed in the others."""
    return [
        replace(
            record,
            update="retrain" if record.round in reasons else "replay:equal:balanced",
            reason=reasons.get(record.round, ""),
            changes={"agreement": None if record.round == 1 else 0.1},
        )
        for record in history_of(sequence, [None] * len(sequence))
    ]


@pytest.mark.parametrize(
    ("reasons", "sentence"),
    [
        (
            {1: "the encoder is untrained", 2: "the encoder is untrained", 5: "1 new class"},
            "Schedule auto: retrain in rounds 1–2 (the encoder is untrained) and round 5 (1 new class); "
            "replay:equal:balanced in the others.",
        ),
        (
            dict.fromkeys(range(1, 7), "the encoder is untrained"),
            "Schedule auto: retrain in rounds 1–6 (the encoder is untrained).",
        ),
    ],
    ids=["some", "all"],
)
def test_reasons_are_printed(reasons: Mapping[int, str], sentence: str) -> None:
    assert decision(make_schedule("auto"), automatic(reasons)) == sentence


def test_a_plan_of_long_letters_is_counted() -> None:
    history = [
        replace(record, update="replay:equal", update_sequence="P(equal)" * record.round)
        for record in history_of("RRR", [None, 0.0, 0.0])
    ]
    assert decision(make_schedule("replay:equal"), history) == "Schedule replay:equal: every round as planned, P×3."


@pytest.mark.parametrize("watched", [True, False])
def test_advice_is_given_where_agreement_was_watched(
    watched: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("toy"), toy_task(), {})
    history = [
        record if watched else replace(record, changes={}) for record in automatic({1: "the encoder is untrained"})
    ]
    for record in history:
        folder.append(record)
    print_result(folder, json=False, quiet=False)
    lines = capsys.readouterr().out.splitlines()
    sentence = advise(history, 2, texts_left(history, len(toy_task().train), shares=True)).sentence
    assert sentence.startswith("The last ")
    assert (lines[1] == sentence) is watched
    assert (sentence in folder.report.read_text()) is watched


def test_no_advice_on_more_labels_when_no_text_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("toy", schedule="fixed:2"), toy_task(), {})
    first, last = history_of("RF", [None, 0.0])
    for record in (first, replace(last, labels=len(toy_task().train) - 20)):  # 20 are measured on
        folder.append(record)
    print_result(folder, json=False, quiet=False)
    assert "All texts are labelled." in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("spec", "t_star"), [("hybrid:accuracy:0.05:2", 3), ("fixed:4", None), (EnoughLabels(20).spec, 3)]
)
def test_json_result_has_all_fields(spec: str, t_star: int | None, tmp_path: Path) -> None:
    history = history_of("RRRF", [None, 0.01, 0.02, 0.5])
    found = result(RunFolder(tmp_path), make_schedule(spec), history)
    assert found == {
        "folder": str(tmp_path),
        "schedule": spec,
        "t_star": t_star,
        "update_sequence": "RRRF",
        "guessing": True,
        "rounds": [with_shown_figures(record) for record in history],
    }


def test_json_result_has_null_for_unknown_figures() -> None:
    few = Metrics(8, 8, 1.0, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0))
    record = replace(history_of("R", [None])[0], validation=few)
    found = with_shown_figures(record)["validation"]
    assert (found["accuracy"], found["f1"], found["ece"]) == (1.0, None, None)
    assert found["accuracy_low"] < 0.7


@pytest.mark.parametrize("test", [True, False])
def test_printed_result_for_people(test: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder.create(tmp_path / "run", Settings("toy", schedule="fixed:2"), toy_task(), {})
    for record in history_of("RF", [None, 0.0], test):
        folder.append(record)
    print_result(folder, json=False, quiet=False)
    lines = capsys.readouterr().out.splitlines()
    measured = (
        "Test: accuracy 0.750 (0.531 to 0.888), macro-F1 0.250 (0.110 to 0.475), NLL 0.500 (scaled 0.438) on 20 texts."
    )
    guesses = "The model is not shown to be better than guessing: it is right on 12 of 20 validation texts, and "
    assert lines == [
        "Schedule fixed:2: every round as planned, RF.",
        measured if test else guesses + "always answering the most frequent class is right on 10.",
        f"Model: {folder.model}",
        f"Report: {folder.report}",
    ]
    assert folder.report.is_file()
