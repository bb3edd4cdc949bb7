"""Checks that any component of a role must pass, ours and other packages' alike.

In a test of your own package:

>>> from hybridal.conformance import check_signal
>>> from hybridal.signals.loss import Loss
>>> check_signal(Loss)
"""

from hybridal.conformance.acquisition import check_acquisition
from hybridal.conformance.fakes import FakeCandidates, FakeModel
from hybridal.conformance.schedule import check_schedule, fake_history
from hybridal.conformance.signal import check_signal

__all__ = ["FakeCandidates", "FakeModel", "check_acquisition", "check_schedule", "check_signal", "fake_history"]
