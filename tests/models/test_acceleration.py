from __future__ import annotations

import subprocess
import sys

TRAIN_ON_A_PROCESSOR = """
import sys
from hybridal import ActiveLearner
from hybridal.testing.small import toy_task

learner = ActiveLearner(toy_task(), backbone="tiny", protocol="quick", schedule="retrain", device="cpu")
learner.teach(learner.query(4), ["food", "sport", "food", "sport"])
print([name for name in sys.modules if name.startswith(("hybridal.models.gpu", "transformers."))])
"""


def test_a_run_on_a_processor_loads_neither_the_gpu_room_nor_transformers() -> None:
    command = [sys.executable, "-W", "ignore", "-c", TRAIN_ON_A_PROCESSOR]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert ended.stdout.strip() == "[]"
