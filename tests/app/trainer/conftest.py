from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_database_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the pauses, so that tests are fast."""
    monkeypatch.setattr("hybridal.app.trainer.stored_predictions.PAUSE", 0.0)
