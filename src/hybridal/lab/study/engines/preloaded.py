"""What all processes of a study need: to import this is to have it.

One process imports it, beside the command, and those of the study are forked from that one. It touches no GPU, and no
thread of it is left: neither would outlive a fork.
"""

from __future__ import annotations

from hybridal.system.background_imports import import_in_thread

import_in_thread("torch", ["scipy.optimize"])

import hybridal.lab.study.engines.processes  # noqa: E402
import hybridal.models.classifier_cache  # noqa: E402
import hybridal.models.transformer  # noqa: E402, F401
