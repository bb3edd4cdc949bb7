from __future__ import annotations

import subprocess
import sys


def test_preloaded_modules_start_no_thread_and_no_gpu() -> None:
    script = """
import sys, threading
import hybridal.lab.study.engines.preloaded
assert {"torch", "scipy.optimize", "hybridal.models.transformer"} <= sys.modules.keys()
import torch
assert not torch.cuda.is_initialized()
for thread in threading.enumerate():
    assert thread is threading.main_thread(), thread
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
