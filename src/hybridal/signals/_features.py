"""The hidden states of a pass, or a sentence that says why there are none."""

from __future__ import annotations

from hybridal.core.outputs import Floats, Outputs


def hidden_states(outputs: Outputs, signal: str) -> Floats:
    """The last hidden states at position 0, which a pass keeps only when it was asked to."""
    if outputs.hidden is None:
        raise ValueError(f"the signal '{signal}' needs features, but this pass was made without them")
    return outputs.hidden
