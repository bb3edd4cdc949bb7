"""A certificate that nearly all texts of a class are found, by a random sample of those that would be left out.

"At least 95% of the texts of X are found, with 95% confidence": found are those that people labelled as X or that the
model gives X, left out are all others of a list of known size. A random sample of the list is labelled; the
hypergeometric distribution bounds how many texts of X the rest of it can hold. Only *labelled* texts of X count as
found, so a model that gives X to wrong texts does not help the certificate.

A sample whose size was fixed beforehand is tested once, exactly. If people look after every label and stop as soon as
the certificate holds, it takes about a tenth more labels (`error_tests`, many looks). Either way the list stays as it
was when the sample was drawn; `RecallSample` keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridal.errors import UserError
from hybridal.measures.error_tests import check_share, count_p_value
from hybridal.measures.selective import CONFIDENCE

RECALL = 0.95


@dataclass(frozen=True)
class RecallCertificate:
    """What a sample says of the texts of a class.

    Attributes:
        recall: The share of the texts of the class that shall be found.
        confidence: The probability with which that shall hold.
        found: How many texts of the class people have labelled, those of the sample included.
        left_out: How many texts the model would leave out.
        sampled: How many random ones of them are labelled.
        missed: How many of those belong to the class.
        holds: Whether the certificate can be given.
        sure_recall: The recall that holds with this confidence now.
        labels_needed: How many labels of the sample it takes in all if no further text of the class turns up; None if
            it holds.
    """

    recall: float
    confidence: float
    found: int
    left_out: int
    sampled: int
    missed: int
    holds: bool
    sure_recall: float
    labels_needed: int | None


def certify(
    found: int,
    left_out: int,
    sampled: int,
    missed: int,
    recall: float = RECALL,
    confidence: float = CONFIDENCE,
    many_looks: bool = False,
) -> RecallCertificate:
    """Decide whether enough texts of a class are found.

    Args:
        found: How many texts people have labelled as belonging to the class, those of the sample included.
        left_out: How many texts the model would have left out when the sample was drawn.
        sampled: How many random ones of them are labelled.
        missed: How many of those belong to the class.
        recall: The share of the texts of the class that shall be found.
        confidence: The probability with which that shall hold.
        many_looks: Whether the sample grows until the certificate holds, instead of having a size fixed beforehand.

    Returns:
        The certificate, or how far it is.

    Raises:
        UserError: If the counts contradict each other, or a share is not between 0 and 1.

    Example:
        >>> certificate = certify(found=300, left_out=2000, sampled=400, missed=0)
        >>> certificate.holds, round(certificate.sure_recall, 3), certificate.labels_needed
        (True, 0.958, None)
        >>> certify(found=100, left_out=2000, sampled=400, missed=0).labels_needed
        786
        >>> certify(found=100, left_out=2000, sampled=400, missed=0, many_looks=True).labels_needed
        830
    """
    check_share(recall, "The recall")
    check_share(confidence, "The confidence")
    if not 0 <= missed <= sampled <= left_out or missed > found:
        raise UserError(
            f"{missed} texts of the class among {sampled} of {left_out} texts, and {found} found in all, cannot be: "
            "a sample is a part of the list, and what it has of the class is found."
        )
    allowed = allowed_missing(found, recall)
    remaining = most_missing(left_out, sampled, missed, confidence, many_looks)
    sure = found / (found + remaining) if found + remaining else 1.0
    holds = remaining <= allowed
    needed = None if holds else _needed(left_out, sampled, missed, allowed, confidence, many_looks)
    return RecallCertificate(recall, confidence, found, left_out, sampled, missed, holds, sure, needed)


def allowed_missing(found: int, recall: float) -> int:
    """Return how many texts of a class may be missing for a recall.

    Example:
        >>> allowed_missing(95, 0.95), allowed_missing(94, 0.95), allowed_missing(0, 0.95)
        (5, 4, 0)
    """
    # Round away the error of the division: 95 of 100 are 95%.
    return int(np.floor(round(found * (1 - recall) / recall, 9)))


def most_missing(
    left_out: int, sampled: int, missed: int, confidence: float = CONFIDENCE, many_looks: bool = False
) -> int:
    """Return how many texts of a class the rest of a list has at most, with this confidence.

    Args:
        left_out: The size of the list.
        sampled: How many random ones of it are labelled.
        missed: How many of those belong to the class.
        confidence: The probability that the rest has no more.
        many_looks: Whether the sample grows until the bound is low enough.

    Example:
        >>> most_missing(2000, 400, 0), most_missing(2000, 400, 2), most_missing(2000, 2000, 7)
        (13, 27, 0)
        >>> most_missing(2000, 400, 0, many_looks=True), most_missing(2000, 400, 2, many_looks=True)
        (14, 38)
    """
    unseen, width = left_out - sampled, 64
    while True:
        missing = np.arange(min(width, unseen) + 1)
        p_values = count_p_value(missed, sampled, missed + missing, left_out, many_looks)
        possible = np.flatnonzero(p_values > 1 - confidence)
        # What is possible has an uneven edge, of a few texts; far beyond it nothing is.
        if width >= unseen or possible[-1] < width // 2:
            return int(possible[-1])
        width *= 2


def _needed(left_out: int, sampled: int, missed: int, allowed: int, confidence: float, many_looks: bool) -> int:
    """The smallest sample, up to the whole list, that certifies if it has no further text of the class."""
    low, high = sampled, left_out
    while high - low > 1:
        middle = (low + high) // 2
        if most_missing(left_out, middle, missed, confidence, many_looks) <= allowed:
            high = middle
        else:
            low = middle
    return high
