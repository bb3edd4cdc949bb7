"""The line that names the encoder when a command begins, with the price of the default one."""

from __future__ import annotations


def encoder_line(backbone: str) -> str:
    """Name the encoder of a backbone setting, and the fast one if this is not it.

    Args:
        backbone: The setting; `auto` if its candidates are looked up later.

    Returns:
        One or two sentences.

    Example:
        >>> encoder_line("minilm")
        'Encoder: minilm.'
        >>> print(encoder_line("auto:gte-small,minilm"))
        Encoder: gte-small, or minilm if the labels clearly favour it. On a processor gte-small takes about twice the
        time of minilm; --backbone minilm is the fast choice.
    """
    from hybridal.backbones import candidate_names
    from hybridal.backbones.auto_candidates import AUTO, DEFAULT_CANDIDATES

    first, *others = candidate_names(backbone)
    preferred, fast = DEFAULT_CANDIDATES[0], DEFAULT_CANDIDATES[-1]
    if backbone == AUTO:
        line = f"Encoder: {first} if it is on this machine or the hub answers, else {fast}."
    elif others:
        line = f"Encoder: {first}, or {' or '.join(others)} if the labels clearly favour it."
    else:
        line = f"Encoder: {first}."
    if first != preferred:
        return line
    price = f"On a processor {preferred} takes about twice the time of {fast}"
    return f"{line} {price}; --backbone {fast} is the fast choice."
