"""Schedules by their specs, each made once: making one asks all installed packages for schedules of theirs."""

from __future__ import annotations

from functools import cache

from hybridal.schedules import Schedule, make_schedule


@cache
def schedule_of(spec: str) -> Schedule:
    """The schedule that a spec describes; it holds no state, so that all may share it.

    >>> schedule_of("fixed:3") is schedule_of("fixed:3")
    True
    """
    return make_schedule(spec)
