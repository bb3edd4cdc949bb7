from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]

from hybridal.core.provenance import RandomDraw
from hybridal.measures.shares.estimators import (
    PRIOR_LABELS,
    Estimates,
    Target,
    count_of_answers,
    estimate,
    share_of,
    slope_on,
)
from tests.measures.shares.populations import labelled, population

SIZE = 3000
ALL = share_of(np.ones(SIZE, dtype=bool))


def test_power_tuning_is_that_of_a_regression_estimator() -> None:
    """With many labels the prior of λ does not matter: the estimate is that of the survey literature's regression."""
    labels, predicted = population(SIZE, 0.3, 1.5, 0)
    drawn = np.random.default_rng(0).choice(SIZE, 1500, replace=False)
    fit = sm.OLS(labels[drawn], sm.add_constant(predicted[drawn])).fit()
    expected = fit.predict(sm.add_constant(predicted)).mean()
    found = estimate(labelled(labels, predicted, drawn), ALL)
    assert found.value[0] == pytest.approx(expected, abs=2e-3 * PRIOR_LABELS / 10)
    spread = np.sqrt(fit.mse_resid / 1500 * (1 - 1500 / SIZE))
    assert found.high[0] - found.low[0] == pytest.approx(2 * 1.96 * spread, rel=0.06)


@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_intervals_hold_whatever_the_model_is_worth(share: float, strength: float) -> None:
    labels, predicted = population(SIZE, share, strength, 1)
    rng = np.random.default_rng(2)
    held, widths = 0, []
    for _ in range(200):
        texts = labelled(labels, predicted, rng.choice(SIZE, 60, replace=False))
        powered, alone = estimate(texts, ALL), estimate(texts, ALL, powered=False)
        held += powered.low[0] <= labels.mean() <= powered.high[0]
        widths.append((powered.high[0] - powered.low[0]) / (alone.high[0] - alone.low[0]))
    assert held / 200 >= 0.91  # 95% and about three standard errors
    assert np.mean(widths) < (0.8 if strength and share == 0.3 else 1.01)


def test_the_naive_count_is_that_of_the_answers() -> None:
    labels, predicted = population(SIZE, 0.1, 1.0, 19)
    texts = labelled(labels, predicted, np.arange(50))
    assert count_of_answers(texts, ALL)[0] == pytest.approx((predicted > 0.5).mean())


def test_chosen_texts_count_and_do_not_stand_for_others() -> None:
    """All texts with a high score were chosen: the mean of all labels is far off, the estimate is not."""
    labels, predicted = population(SIZE, 0.3, 2.0, 3)
    chosen = np.argsort(-predicted)[:900]
    rest = np.setdiff1d(np.arange(SIZE), chosen)
    rng = np.random.default_rng(4)
    found = [
        estimate(labelled(labels, predicted, rng.choice(rest, 50, replace=False), chosen), ALL) for _ in range(100)
    ]
    assert np.mean([one.value[0] for one in found]) == pytest.approx(labels.mean(), abs=0.005)
    assert np.mean([one.low[0] <= labels.mean() <= one.high[0] for one in found]) >= 0.9
    known = labels[chosen].sum() / SIZE
    assert all(one.low[0] >= known for one in found)


def test_two_draws_with_different_frames_are_unbiased() -> None:
    labels, predicted = population(400, 0.3, 1.0, 5)
    target, found = share_of(np.ones(400, dtype=bool)), []
    rng = np.random.default_rng(6)
    for _ in range(400):
        first = rng.choice(400, 20, replace=False)
        later = np.ones(400, dtype=bool)
        later[first] = False
        later[np.argsort(-predicted)[:100]] = False  # chosen in between
        second = rng.choice(np.flatnonzero(later), 20, replace=False)
        texts = labelled(labels, predicted, second, np.flatnonzero(~later))
        draws = [RandomDraw(np.ones(400, dtype=bool), first), RandomDraw(later, second)]
        found.append(estimate(replace(texts, draws=draws), target).value[0])
    assert np.mean(found) == pytest.approx(labels.mean(), abs=4 * np.std(found) / 20)


def test_the_slope_is_that_of_a_regression_on_pseudo_outcomes() -> None:
    """Design-based supervised learning: regress (prediction + error / probability of the draw) on the column."""
    labels, predicted = population(SIZE, 0.4, 1.0, 7)
    months = np.random.default_rng(8).integers(0, 12, SIZE).astype(float)
    drawn = np.random.default_rng(9).choice(SIZE, 2000, replace=False)
    texts = labelled(labels, predicted, drawn)
    outcomes = predicted.copy()
    outcomes[drawn] += SIZE / 2000 * (labels - predicted)[drawn]
    expected = sm.OLS(outcomes, sm.add_constant(months)).fit()
    found = estimate(texts, slope_on(months))
    assert found.value[0] == pytest.approx(expected.params[1], abs=0.3 * expected.HC2_se[1])


def test_intervals_of_slopes_hold() -> None:
    labels, predicted = population(SIZE, 0.3, 1.5, 10)
    column = np.random.default_rng(11).exponential(size=SIZE)
    target = slope_on(column)
    truth = target.weights @ labels
    rng = np.random.default_rng(12)
    found = [estimate(labelled(labels, predicted, rng.choice(SIZE, 80, replace=False)), target) for _ in range(150)]
    assert np.mean([one.low[0] <= truth <= one.high[0] for one in found]) >= 0.9


def test_labels_that_some_models_have_learnt_are_compared_with_another_model() -> None:
    """Two models, each knows half of the labels by heart; crossed, they are right on average."""
    labels, predicted = population(SIZE, 0.3, 0.5, 13)
    predicted /= 3  # too low for new texts
    rng = np.random.default_rng(14)
    crossed: list[Estimates] = []
    learnt: list[Estimates] = []
    for _ in range(60):
        drawn = rng.choice(SIZE, 80, replace=False)
        models = np.stack([predicted, predicted])
        models[0, drawn[:40]], models[1, drawn[40:]] = labels[drawn[:40]], labels[drawn[40:]]
        fold = np.zeros(SIZE, dtype=np.int64)
        fold[drawn[:40]] = 1
        texts = replace(labelled(labels, predicted, drawn), predicted=models[:, :, None])
        for found, of in ((crossed, fold), (learnt, 1 - fold)):
            found.append(estimate(replace(texts, fold=of), ALL))
    held, wrong = (
        np.mean([one.low[0] <= labels.mean() <= one.high[0] for one in found]) for found in (crossed, learnt)
    )
    assert held >= 0.88 > wrong


def test_without_random_labels_there_is_no_estimate() -> None:
    labels, predicted = population(100, 0.3, 1.0, 15)
    texts = replace(labelled(labels, predicted, np.arange(5)), draws=[])
    found = estimate(texts, share_of(np.ones(100, dtype=bool)))
    assert np.isnan(found.value[0])
    assert found.labels == 0


def test_labels_of_all_texts_leave_nothing_to_estimate() -> None:
    labels, predicted = population(100, 0.3, 1.0, 16)
    found = estimate(labelled(labels, predicted, np.arange(100)), share_of(np.ones(100, dtype=bool)))
    assert found.value[0] == found.low[0] == found.high[0] == pytest.approx(labels.mean())


def test_a_target_is_any_weighted_sum() -> None:
    labels, predicted = population(500, 0.5, 1.0, 17)
    weights = np.random.default_rng(18).normal(size=500)
    texts = labelled(labels, predicted, np.arange(500))
    found = estimate(texts, Target(np.ones(500, dtype=bool), weights, is_share=False))
    assert found.value[0] == pytest.approx(weights @ labels)


# What ppi-python 0.2.3 gives for these populations: `ppi_mean_pointestimate`, `ppi_mean_ci`, `ppi_ols_pointestimate`
# and `ppi_ols_ci` with its tuned λ. It is no dependency of the tests, because it needs numba.
PPI = {
    (0.3, 1.5, 20): [(0.3022173, 0.2785518, 0.3258828), (0.0012459, -0.0055816, 0.0080754)],
    (0.1, 2.5, 21): [(0.1030064, 0.0900955, 0.1159174), (-0.0003953, -0.0044799, 0.0036887)],
}


@pytest.mark.parametrize(("share", "strength", "seed"), PPI)
def test_it_agrees_with_the_library_of_prediction_powered_inference(share: float, strength: float, seed: int) -> None:
    labels, predicted = population(20_000, share, strength, seed)
    drawn = np.random.default_rng(seed).choice(20_000, 1000, replace=False)
    column = np.random.default_rng(seed + 100).integers(0, 12, 20_000).astype(float)
    targets = share_of(np.ones(20_000, dtype=bool)), slope_on(column)
    for target, (value, low, high) in zip(targets, PPI[share, strength, seed], strict=True):
        found = estimate(labelled(labels, predicted, drawn), target)
        width = high - low
        assert found.value[0] == pytest.approx(value, abs=0.02 * width)
        assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=0.05 * width)


def test_draws_about_a_part_of_the_texts_stand_for_that_part() -> None:
    """Two uploads, of which texts were drawn separately, and a later draw from all texts."""
    rng, held, values = np.random.default_rng(22), 0, []
    first, predicted_first = population(1500, 0.1, 1.5, 23)
    second, predicted_second = population(600, 0.6, 1.5, 24)
    labels, predicted = np.concatenate([first, second]), np.concatenate([predicted_first, predicted_second])
    early = np.arange(2100) < 1500
    for _ in range(100):
        drawn = [rng.choice(1500, 40, replace=False), 1500 + rng.choice(600, 60, replace=False)]
        rest = np.ones(2100, dtype=bool)
        rest[np.concatenate(drawn)] = False
        drawn.append(rng.choice(np.flatnonzero(rest), 30, replace=False))
        frames = [RandomDraw(early, drawn[0], early), RandomDraw(~early, drawn[1], ~early), RandomDraw(rest, drawn[2])]
        texts = replace(labelled(labels, predicted, np.concatenate(drawn)), draws=frames)
        found = estimate(texts, share_of(np.ones(2100, dtype=bool)))
        values.append(found.value[0])
        held += found.low[0] <= labels.mean() <= found.high[0]
    assert np.mean(values) == pytest.approx(labels.mean(), abs=4 * np.std(values) / 10)
    assert held >= 88


def test_texts_that_no_draw_covers_add_their_whole_range() -> None:
    labels, predicted = population(1000, 0.3, 1.5, 25)
    early = np.arange(1000) < 900
    drawn = np.random.default_rng(26).choice(900, 200, replace=False)
    part = estimate(labelled(labels[:900], predicted[:900], drawn), share_of(np.ones(900, dtype=bool)))
    texts = replace(labelled(labels, predicted, drawn), draws=[RandomDraw(early, drawn, early)])
    found = estimate(texts, share_of(np.ones(1000, dtype=bool)))
    assert found.low[0] == pytest.approx(0.9 * part.low[0], abs=0.005)
    assert found.high[0] == pytest.approx(0.9 * part.high[0] + 0.1, abs=0.005)


def test_a_class_that_people_left_open_has_fewer_labels() -> None:
    labels, predicted = population(500, 0.3, 1.5, 27)
    drawn, chosen = np.arange(100), np.arange(100, 150)
    texts = labelled(labels, predicted, drawn, chosen)
    both = np.repeat(texts.targets, 2, axis=1)
    both[:40, 1] = np.nan  # open for some random texts
    both[100:110, 1] = np.nan  # and for some that were chosen before the draw
    two = replace(
        texts, targets=both, answers=np.repeat(texts.answers, 2, 1), predicted=np.repeat(texts.predicted, 2, 2)
    )
    found, alone = (
        estimate(two, share_of(np.ones(500, dtype=bool))),
        estimate(texts, share_of(np.ones(500, dtype=bool))),
    )
    assert found.labels.tolist() == [100, 60]
    assert (found.low[0], found.high[0]) == pytest.approx((alone.low[0], alone.high[0]))
    fewer = estimate(
        replace(texts, draws=[replace(texts.draws[0], drawn=drawn[40:])]), share_of(np.ones(500, dtype=bool))
    )
    widened = (found.high[1] - found.low[1]) - (fewer.high[0] - fewer.low[0])
    assert widened == pytest.approx(10 / 500, abs=0.002)


def test_predictions_that_are_the_same_for_all_texts_tell_nothing() -> None:
    labels, _ = population(400, 0.3, 1.0, 28)
    constant = np.full(400, 0.1) + 1e-17 * np.arange(400)
    drawn = np.random.default_rng(29).choice(400, 61, replace=False)
    texts = labelled(labels, constant, drawn)
    found, alone = (estimate(texts, share_of(np.ones(400, dtype=bool)), powered=powered) for powered in (True, False))
    assert found.value[0] == pytest.approx(labels[drawn].mean())
    assert (found.low[0], found.high[0]) == pytest.approx((alone.low[0], alone.high[0]))
