from __future__ import annotations

import subprocess
import sys


def test_the_web_process_never_imports_training_code() -> None:
    script = (
        "import sys, hybridal.app.web.web_app, hybridal.app.serve\n"
        "print(sorted({'torch', 'transformers', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
