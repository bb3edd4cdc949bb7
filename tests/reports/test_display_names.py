import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from hybridal.reports.display_names import (
    STYLES,
    acquisition_name,
    distinct_markers,
    distinct_names,
    letter,
    method_names,
    schedule_name,
    short_labels,
    style_of,
    task_names,
)
from hybridal.reports.figure_style import INKS
from hybridal.schedules import SCHEDULES, make_schedule
from hybridal.signals import SIGNALS
from hybridal.updates import UPDATES

# How red- and green-blind readers see linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.
EYES = {
    "most": np.eye(3),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    dark, light = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: str, eyes: str) -> NDArray[np.float64]:
    """A colour as CIELAB, in which distances are about as large as they look."""
    ratio = TO_XYZ @ np.clip(EYES[eyes] @ linear(colour), 0, 1) / [0.9505, 1.0, 1.089]
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("token", STYLES)
def test_every_colour_is_seen_on_both_pages(token: str) -> None:
    light, dark = INKS["surface"]
    assert contrast(STYLES[token].light, light) >= 3
    assert contrast(STYLES[token].dark, dark) >= 3


def test_every_signal_and_update_has_its_own_style() -> None:
    tokens = [style_of(f"hybrid:{name}").token for name in SIGNALS.names()]
    tokens += [style_of(name).token for name in UPDATES.names()]
    tokens += [style_of(name).token for name in SCHEDULES.names() if name not in ("constant", "hybrid")]
    assert len(set(tokens)) == len(tokens)
    assert not {"other", "hybrid"} & set(tokens)


def test_no_two_kinds_share_a_colour() -> None:
    for side in ("light", "dark"):
        colours = [getattr(item, side) for item in STYLES.values()]
        assert len(set(colours)) == len(colours)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("side", ["light", "dark"])
def test_main_schedules_are_distinguishable_with_colour_blindness(eyes: str, side: str) -> None:
    shown = [STYLES[name] for name in ("auto", "retrain", "finetune", "fixed", "hybrid-accuracy", "hybrid-alpha")]
    for one, other in itertools.combinations(shown, 2):
        apart = np.linalg.norm(lab(getattr(one, side), eyes) - lab(getattr(other, side), eyes))
        assert apart > 20, (one.token, other.token)
        assert one.marker != other.marker


def test_the_name_of_a_replay_has_its_argument() -> None:
    assert [schedule_name(spec) for spec in ("auto", "refit", "replay:equal", "replay:equal:balanced")] == [
        "Auto",
        "Refit",
        "Replay equal",
        "Replay equal balanced",
    ]


def test_names_do_not_depend_on_how_a_spec_is_written() -> None:
    assert schedule_name("hybrid:accuracy") == schedule_name(make_schedule("hybrid:accuracy").spec) == "HybridAL ΔAcc"
    assert schedule_name("hybrid") == "HybridAL ΔAcc"


def test_names_and_markers_of_one_figure_are_all_different() -> None:
    specs = [f"hybrid:alpha:{epsilon}:{k}" for epsilon in (1e-4, 1e-3) for k in (1, 2, 3)] + [
        "fixed:5",
        "fixed:9",
        "x:y",
    ]
    assert len(set(distinct_names(specs).values())) == len(specs)
    pairs = {(style_of(spec).token, marker) for spec, marker in distinct_markers(specs).items()}
    assert len(pairs) == len(specs)


def test_letters_are_those_of_the_update_sequences() -> None:
    for name in UPDATES.names():
        assert UPDATES.make(name).letter.startswith(letter(name))
    for spec in ("replay:equal", "replay:equal:balanced"):
        assert UPDATES.make(spec).letter.startswith(letter(spec))
    assert len({letter(name) for name in UPDATES.names()}) == len(UPDATES.names())
    assert [letter(update) for update in ("refit", "not-installed")] == ["H", "N"]


def test_schedules_by_their_names() -> None:
    specs = ("hybrid:accuracy:0.005:2", "fixed:10", "anchor:0.6", "not-installed:1")
    assert [schedule_name(spec) for spec in specs] == ["HybridAL ΔAcc", "FixedSwitch@10", "Anchor 0.6", specs[-1]]
    assert [style_of(spec).token for spec in specs] == ["hybrid-accuracy", "fixed", "anchor", "other"]
    twins = distinct_names(["retrain", "hybrid:accuracy:0.005:2", "hybrid:accuracy:0.01:3"])
    assert list(twins.values()) == ["Retrain", "HybridAL ΔAcc (ε=0.005, k=2)", "HybridAL ΔAcc (ε=0.01, k=3)"]
    same = distinct_names(["hybrid:accuracy", "hybrid:accuracy:0.005:2"])
    assert len(set(same.values())) == 2
    assert list(method_names(["fixed:3", "hybrid:accuracy:0.005:2"], short=True).values()) == ["FixedSwitch@3", "ΔAcc"]
    assert distinct_markers(["retrain", "fixed:5", "fixed:10"]) == {"retrain": "o", "fixed:5": "D", "fixed:10": "o"}


def test_tasks_backbones_and_acquisitions_by_their_names() -> None:
    tasks = task_names(["agnews", "mails/spam.csv", "a/x.csv", "b/x.csv"])
    assert list(tasks.values()) == ["AG News", "spam", "a/x.csv", "b/x.csv"]
    labels = short_labels(["imdb", "/data/reviews.csv", "/old/reviews.csv", "org/encoder"])
    assert list(labels.values()) == ["IMDb", "reviews 1", "reviews 2", "encoder"]
    named = [acquisition_name(name) for name in ("entropy", "badge", "least-confidence")]
    assert named == ["Entropy", "BADGE", "Least confidence"]
