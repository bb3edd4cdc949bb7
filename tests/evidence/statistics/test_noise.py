import numpy as np
import pandas as pd
import pytest

from hybridal.errors import UserError
from hybridal.evidence.statistics.bootstrap import seed_noise

# The ± of RETRAIN in the paper's table of test F1, in thousandths: 3 backbones × 6 datasets.
RETRAIN = [21, 4, 3, 21, 23, 4, 13, 4, 14, 21, 13, 2, 33, 5, 13, 15, 22, 6]


def test_the_papers_floor() -> None:
    shape = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / np.sqrt(2.5)  # five seeds whose standard deviation is 1
    found = seed_noise([0.8 + shape * spread / 1000 for spread in RETRAIN])
    assert found.mean == pytest.approx(0.0131, abs=1e-4)  # the table is rounded
    assert found.median == pytest.approx(0.013)
    assert found.largest == pytest.approx(0.033)
    assert (found.cells, found.left_out) == (18, 0)


def test_it_is_pandas_mean_of_stds() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"cell": np.repeat(np.arange(7), 5), "f1": rng.normal(0.8, 0.02, 35)})
    stds = table.groupby("cell")["f1"].std()
    found = seed_noise([group.to_numpy() for _, group in table.groupby("cell")["f1"]])
    assert found.mean == pytest.approx(float(stds.mean()), rel=1e-12)
    assert found.largest == pytest.approx(float(stds.max()), rel=1e-12)


def test_degenerate() -> None:
    assert seed_noise([]).mean is None
    assert seed_noise([[0.5], []]) == seed_noise([[], [0.7]])
    assert seed_noise([[0.5], []]).left_out == 2
    assert seed_noise([[0.1] * 3, [0.1] * 5]).mean == 0.0
    with pytest.raises(UserError, match="cell 2: number 1"):
        seed_noise([[0.5], [float("nan")]])
