"""Import the modules that all worker processes of a study need.

The fork server imports this module, and workers are forked from it. It must not touch a GPU or leave a thread running,
because neither survives a fork.
"""

from __future__ import annotations

from hybridal.system.background_imports import import_in_thread

import_in_thread("torch", ["scipy.optimize"])

import hybridal.lab.study.engines.processes  # noqa: E402
import hybridal.models.classifier_cache  # noqa: E402
import hybridal.models.transformer  # noqa: E402, F401
