"""The notebook in docs/ runs as it is, here with a small encoder, and shows its outputs."""

from __future__ import annotations

import json
from typing import Any

from bench.tutorial import NOTEBOOK, run_cell

CELLS = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs_and_its_stored_outputs_are_of_the_same_kind() -> None:
    assert any('backbone="minilm"' in "".join(cell["source"]) for cell in CELLS)
    quick_learner = 'backbone="tiny", device="cpu", max_epochs=2, min_steps=0, min_finetune_steps=0'
    names: dict[str, Any] = {"__name__": "tutorial"}
    for cell in CELLS:
        quick = "".join(cell["source"]).replace('backbone="minilm"', quick_learner)
        outputs = run_cell(quick, names)
        assert [one["output_type"] for one in outputs] == [one["output_type"] for one in cell["outputs"]]
    assert names["learner"].history[-1].reason == "the last round"
    assert (names["home"] / "report.html").is_file()
