"""Which pretrained encoder a run used, and why, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.core.encoder_choice import ONLY, EncoderChoice
from hybridal.core.rounds import Round
from hybridal.measures.choose_encoder import MIN_LABELS
from hybridal.sentences import Sentence

# Points of macro-F1 by which `gte-small` was better than `minilm` with 50 and with 968 labels, over nine tasks
# (docs/findings.md).
LARGER, GAIN = "gte-small", {"first": "4.6", "last": "1.7"}


def encoder_story(history: Sequence[Round]) -> list[str]:
    """Describe the choice of the encoder; nothing if a run had only one.

    Args:
        history: The rounds so far.

    Returns:
        The encoder in use with the figures that speak for it, and when it changed.

    Example:
        >>> from dataclasses import replace
        >>> from hybridal.core.encoder_choice import ONLY, EncoderChoice
        >>> from hybridal.core.rounds import LabelChanges
        >>> from hybridal.testing import fake_history
        >>> choice = EncoderChoice("gte-small", judged=50, losses={"minilm": 0.63, "gte-small": 0.41})
        >>> changes = LabelChanges(encoder=choice)
        >>> encoder_story([replace(fake_history((), seed=1, rounds=1)[0], label_changes=changes)])
        ['The labels chose the encoder gte-small: log loss 0.41 against 0.63 of minilm on 50 labels.']
    """
    known = [(record.round, record.encoder) for record in history if record.encoder is not None]
    if not known:
        return []
    last = known[-1][1]
    if not last.judged:
        return [_unjudged(last)]
    told: list[str] = [_judged(last)]
    before = dict(zip((round for round, _ in known[1:]), (choice.backbone for _, choice in known), strict=False))
    changes = [(round, choice) for round, choice in known if choice.changed and round in before]
    if changes:
        *earlier, (round, _) = changes
        told.append(Sentence("It replaced {encoder} in round {round}.", encoder=before[round], round=round))
        told += [
            Sentence(
                "Before, {encoder} replaced {other} in round {round}.",
                encoder=choice.backbone,
                other=before[at],
                round=at,
            )
            for at, choice in reversed(earlier)
        ]
    return told


def larger_encoder(backbone: str, history: Sequence[Round]) -> Sentence | None:
    """What a larger encoder would bring, if that was measured and the labels do not decide about it anyway.

    Args:
        backbone: The setting of the run.
        history: The rounds so far.

    Returns:
        A sentence; None if nothing is known about a larger one.

    Example:
        >>> larger_encoder("gte-small", []) is None
        True
    """
    choices = [record.encoder for record in history if record.encoder is not None]
    used = choices[-1].backbone if choices else backbone
    if used != "minilm" or any(LARGER in choice.losses for choice in choices):
        return None
    return Sentence(
        "A larger encoder may bring more: on nine tasks {larger} was {first} points of macro-F1 better with 50 labels "
        "and {last} with 968, for about twice the time. A project or a run with the encoder “auto” lets the labels "
        "choose.",
        larger=LARGER,
        **GAIN,
    )


def _unjudged(choice: EncoderChoice) -> Sentence:
    if choice.reason == ONLY:
        return Sentence("The encoder is {encoder}: the only candidate.", encoder=choice.backbone)
    return Sentence(
        "The encoder is {encoder}: fewer than {n} labels to compare encoders on.",
        encoder=choice.backbone,
        n=MIN_LABELS,
    )


def _judged(choice: EncoderChoice) -> Sentence:
    """Why this one; against the best of the others."""
    other = min((name for name in choice.losses if name != choice.backbone), key=lambda name: choice.losses[name])
    values = {
        "encoder": choice.backbone,
        "loss": f"{choice.losses[choice.backbone]:.2f}",
        "other": other,
        "other_loss": f"{choice.losses[other]:.2f}",
        "n": choice.judged,
    }
    if choice.losses[other] < choice.losses[choice.backbone]:
        return Sentence(
            "The encoder stays {encoder}: log loss {loss} against {other_loss} of {other} on {n} labels, a difference "
            "that may be chance.",
            **values,
        )
    return Sentence(
        "The labels chose the encoder {encoder}: log loss {loss} against {other_loss} of {other} on {n} labels.",
        **values,
    )
