from pathlib import Path

from ...made_up import make
from .signed_in import browser


def test_an_owner_sets_the_prices_and_reads_what_labels_cost(tmp_path: Path) -> None:
    with browser(make(tmp_path / "p", 8), local=True) as client:
        unknown = {"people": None, "people_per": "hour", "model": None, "model_per": "million tokens"}
        assert client.get("/api/spending").json() == {"prices": unknown, "sentences": []}
        changed = {**unknown, "people": 25, "model": 0.5}
        assert client.put("/api/spending/prices", json=changed).json() == changed
        found = client.get("/api/spending", headers={"Accept-Language": "de"}).json()
        assert found["prices"] == changed
        assert found["sentences"][0].startswith("Wie lange")
        assert client.put("/api/spending/prices", json={**changed, "people": 0}).status_code == 422
