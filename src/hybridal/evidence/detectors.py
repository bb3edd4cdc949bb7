"""Which detector reads which signal: a schedule's own, or the signal's usual one."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.summary import Histories, detector_of, signal_names
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Schedule


def own_detectors(histories: Histories, schedules: Mapping[str, Schedule]) -> dict[str, dict[str, Stabilisation]]:
    """By signal and by spec, the detectors that decide for the schedules; deciding signals come first."""
    found: dict[str, dict[str, Stabilisation]] = {}
    for spec in histories:
        own = detector_of(schedules.get(spec))
        if own is not None:
            found.setdefault(own[0], {})[spec] = own[1]
    return found | {name: {} for name in signal_names(histories) if name not in found}


def usual_detector(signal: str) -> Stabilisation | None:
    """A signal's own ε and k; None for signals that are not installed here.

    >>> usual_detector("accuracy"), usual_detector("not installed")
    (Stabilisation(epsilon=0.005, patience=2), None)
    """
    from hybridal.errors import UserError
    from hybridal.signals import SIGNALS

    try:
        known = SIGNALS.make(signal)
    except UserError:
        return None
    return Stabilisation(known.epsilon, known.patience)


def detectors_of(histories: Histories, schedules: Mapping[str, Schedule]) -> dict[str, Stabilisation]:
    """By signal: the first schedule's own detector, else the signal's usual one."""
    found = {}
    for signal, deciding in own_detectors(histories, schedules).items():
        detector = next(iter(deciding.values()), None) or usual_detector(signal)
        if detector is not None:
            found[signal] = detector
    return found
