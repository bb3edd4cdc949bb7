"""The notebook in docs/ runs as it stands; here on an encoder that is quick."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def test_the_notebook_runs_from_its_first_cell_to_its_last() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert any('backbone="minilm"' in source for source in sources)
    names: dict[str, Any] = {"__name__": "tutorial"}
    for number, source in enumerate(sources):
        quick = source.replace('backbone="minilm"', 'backbone="tiny", device="cpu"')
        exec(compile(quick, f"cell {number}", "exec"), names)
    assert names["learner"].history[-1].reason == "the last round"
    assert (names["home"] / "report.html").is_file()
    assert not any(cell["outputs"] for cell in cells if cell["cell_type"] == "code"), "outputs are not kept"
