"""Which pretrained encoder a run used, and why, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.core.rounds import Round


def encoder_story(history: Sequence[Round]) -> list[str]:
    """Describe the choice of the encoder; nothing if a run had only one.

    Args:
        history: The rounds so far.

    Returns:
        The encoder in use with the figures that speak for it, and when it changed.

    Example:
        >>> from dataclasses import replace
        >>> from hybridal.core.encoder_choice import EncoderChoice
        >>> from hybridal.core.rounds import LabelChanges
        >>> from hybridal.testing import fake_history
        >>> why = "gte-small: log loss 0.41 against 0.63 of minilm on 50 labels"
        >>> changes = LabelChanges(encoder=EncoderChoice("gte-small", judged=50, reason=why))
        >>> encoder_story([replace(fake_history((), seed=1, rounds=1)[0], label_changes=changes)])
        ['The labels chose the encoder gte-small: log loss 0.41 against 0.63 of minilm on 50 labels.']
    """
    known = [(record.round, record.encoder) for record in history if record.encoder is not None]
    if not known:
        return []
    last = known[-1][1]
    if not last.judged:
        return [f"The encoder is {last.backbone}: {last.reason}."]
    told = [f"The labels chose the encoder {last.reason}."]
    before = dict(zip((round for round, _ in known[1:]), (choice.backbone for _, choice in known), strict=False))
    changes = [(round, choice) for round, choice in known if choice.changed and round in before]
    if changes:
        *earlier, (round, _) = changes
        told.append(f"It replaced {before[round]} in round {round}.")
        told += [f"Before, {choice.backbone} replaced {before[at]} in round {at}." for at, choice in reversed(earlier)]
    return told
