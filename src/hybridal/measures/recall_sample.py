"""The random sample behind a recall certificate: a fixed list of texts in random order, labelled from its start on.

The list is what would be left out: texts without a label to which the model does not give the class. It stays as it was
when the sample was drawn, whatever people label and the model learns meanwhile, so people may look at it after
every label, and the sample may grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hybridal.measures.recall_certificate import RECALL, RecallCertificate, certify
from hybridal.measures.selective import CONFIDENCE
from hybridal.randomness import stream


@dataclass(frozen=True)
class RecallSample:
    """The texts that would be left out of a class, in random order.

    Attributes:
        wanted: The class.
        order: The ids of the texts.
        found: How many texts people had labelled as belonging to the class when the sample was drawn.
        given: To how many other texts the model gave the class; they are not on the list and need no labels.

    Example:
        >>> sample = RecallSample.draw("bug", range(500), found=200, seed=1)
        >>> needed = sample.labels_needed()
        >>> needed, sample.take(needed)[:3]
        (128, [201, 441, 207])
        >>> labels = {id: False for id in sample.take(needed)}
        >>> sample.certificate(labels).holds
        True
    """

    wanted: Any
    order: tuple[Any, ...]
    found: int
    given: int = 0

    @classmethod
    def draw(cls, wanted: Any, left_out: Iterable[Any], found: int, given: int = 0, seed: int = 0) -> RecallSample:
        """Bring the texts that would be left out into a random order.

        Args:
            wanted: The class.
            left_out: The ids of the texts without a label to which the model does not give the class.
            found: How many texts people labelled as belonging to the class.
            given: To how many texts without a label the model gives the class.
            seed: Of the order. Two samples of the same list need different ones.
        """
        ids = list(left_out)
        order = stream(seed, "recall sample").permutation(len(ids)).tolist()
        return cls(wanted, tuple(ids[at] for at in order), found, given)

    def __len__(self) -> int:
        return len(self.order)

    def take(self, n: int) -> list[Any]:
        """Return the ids of the first n texts to label."""
        return list(self.order[:n])

    def labels_needed(self, recall: float = RECALL, confidence: float = CONFIDENCE) -> int:
        """Return how many labels it takes if none of the texts belongs to the class."""
        return self.certificate({}, recall, confidence).labels_needed or 0

    def certificate(
        self, labels: Mapping[Any, bool], recall: float = RECALL, confidence: float = CONFIDENCE
    ) -> RecallCertificate:
        """Return what the labels say.

        Only those up to the first text without a label count: which ones people label first may depend on the texts.

        Args:
            labels: Whether texts belong to the class, by id.
            recall: The share of the texts of the class that shall be found.
            confidence: The probability with which that shall hold.

        Raises:
            UserError: If a share is not between 0 and 1.
        """
        sampled = next((at for at, id in enumerate(self.order) if id not in labels), len(self.order))
        missed = sum(bool(labels[id]) for id in self.order[:sampled])
        return certify(self.found + missed, len(self), sampled, missed, recall, confidence, many_looks=True)

    def to_json(self) -> dict[str, Any]:
        """Return the sample as a JSON object."""
        return {**asdict(self), "order": list(self.order)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RecallSample:
        """Read the object of `to_json`.

        Raises:
            ValueError: If it is none.
        """
        try:
            wanted, order, found, given = (data[name] for name in ("wanted", "order", "found", "given"))
            return cls(wanted, tuple(order), int(found), int(given))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no recall sample: {error}") from error
