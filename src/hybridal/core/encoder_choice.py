"""Which of several pretrained encoders a round uses, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

ONLY = "the only candidate"  # the reason where nothing is compared


@dataclass(frozen=True)
class EncoderChoice:
    """The encoder of a round, chosen among candidates by the labels.

    Attributes:
        backbone: The chosen encoder.
        changed: Whether the round before used another one, so that the model starts from new pretrained weights.
        judged: On how many labels the candidates were last compared; 0 if not yet.
        losses: The cross-fitted log loss of each candidate then, in nats per text or decision.
        reason: Why this one, in one sentence.

    Example:
        >>> choice = EncoderChoice("gte-small", judged=50, losses={"minilm": 0.63, "gte-small": 0.41})
        >>> EncoderChoice.from_json(choice.to_json()) == choice
        True
    """

    backbone: str
    changed: bool = False
    judged: int = 0
    losses: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EncoderChoice:
        """Create a choice from its JSON object.

        Args:
            data: The fields by name.
        """
        return cls(**data)
