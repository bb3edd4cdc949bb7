"""Checks that every component of a role must pass, built-in or from another package.

In a test of your package:

>>> from hybridal.testing import check_signal
>>> from hybridal.signals.loss import Loss
>>> check_signal(Loss)
"""

from hybridal.testing.acquisition import check_acquisition
from hybridal.testing.chat_stub import stub_chat_server
from hybridal.testing.fakes import FakeCandidates, FakeModel
from hybridal.testing.schedule import check_schedule, fake_history
from hybridal.testing.signal import check_signal

__all__ = [
    "FakeCandidates",
    "FakeModel",
    "check_acquisition",
    "check_schedule",
    "check_signal",
    "fake_history",
    "stub_chat_server",
]
