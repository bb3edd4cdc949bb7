"""Do new texts look like those of the random labels? If not, nothing that was tested on these holds for the new ones.

The predictions of both are compared: a Kolmogorov-Smirnov test for the probability of each class, corrected for their
number (Bonferroni). Comparing a classifier's outputs finds shifts better than other simple checks (Rabanser et al.
2019). It is a warning and no proof: texts of another kind that get the same predictions are not noticed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.errors import UserError

LEVEL = 0.01  # how often texts of the same kind are warned about
MAX_COMPARED = 1000  # new texts; with more, differences would be found that do not matter


@dataclass(frozen=True)
class Shift:
    """How new texts differ from those of the random labels.

    Attributes:
        p_value: How probable such a difference is between texts of the same kind, corrected for the number of classes.
        column: The column with the clearest difference.
        before: The mean probability there of the texts with random labels.
        now: That of the new texts.
    """

    p_value: float
    column: int
    before: float
    now: float

    @property
    def is_likely(self) -> bool:
        """Whether the texts probably differ.

        >>> Shift(0.2, 0, 0.5, 0.6).is_likely
        False
        """
        return self.p_value <= LEVEL


def find_shift(reference: Floats, given: Floats) -> Shift:
    """Compare the probabilities of new texts with those of a random sample of the old ones.

    Args:
        reference: The probabilities of texts with random labels, (n, C).
        given: Those of new texts, or of a random sample of them, (m, C).

    Raises:
        UserError: If one of them has no text, or they have other columns.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> old, new = rng.random((300, 1)), rng.random((300, 1))
        >>> find_shift(old, new).is_likely, find_shift(old, new / 2).is_likely
        (False, True)
    """
    from scipy.stats import ks_2samp

    if not len(reference) or not len(given) or reference.shape[1:] != given.shape[1:]:
        raise UserError("Two samples of probabilities of the same classes are needed.")
    p_values = np.array(
        [ks_2samp(old, new).pvalue for old, new in zip(reference.T, given.T, strict=True)], dtype=np.float64
    )
    column = int(p_values.argmin())
    corrected = min(1.0, float(p_values[column]) * len(p_values))
    return Shift(corrected, column, float(reference[:, column].mean()), float(given[:, column].mean()))


class RandomSample:
    """A random sample of rows that arrive in pieces: each row is equally likely to be in it.

    >>> sample = RandomSample(2)
    >>> for piece in (np.zeros((5, 3)), np.ones((1, 3))):
    ...     sample.add(piece)
    >>> sample.rows.shape
    (2, 3)
    """

    def __init__(self, size: int = MAX_COMPARED, seed: int = 0) -> None:
        self._size, self._rng = size, np.random.default_rng(seed)
        self._keys: NDArray[np.float64] = np.empty(0)
        self._rows: Floats | None = None

    def add(self, rows: Floats) -> None:
        """Let rows take part in the draw."""
        keys = np.concatenate([self._keys, self._rng.random(len(rows))])
        joined = rows if self._rows is None else np.concatenate([self._rows, rows])
        kept = np.sort(np.argsort(keys, kind="stable")[: self._size])
        self._keys, self._rows = keys[kept], joined[kept]

    @property
    def rows(self) -> Floats:
        return np.empty((0, 0)) if self._rows is None else self._rows
