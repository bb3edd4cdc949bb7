from __future__ import annotations

import re

import pytest

from hybridal.backbones.catalogue import CATALOGUE, entry_of
from hybridal.backbones.wheel_models import WHEEL_MODELS


def test_every_encoder_of_a_wheel_has_an_entry_with_a_hub_id() -> None:
    assert all(CATALOGUE[name].hub_id for name in WHEEL_MODELS)
    assert [name for name, entry in CATALOGUE.items() if entry.hub_id is None] == ["tiny"]


@pytest.mark.parametrize("name", [*CATALOGUE])
def test_an_entry_is_complete(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.pooling in ("mean", "first")
    assert entry.revision is None or re.fullmatch("[0-9a-f]{40}", entry.revision)
    assert entry_of(name) is entry_of(f"{name}@main") is entry
    assert entry.hub_id is None or entry_of(entry.hub_id) is entry


def test_only_e5_has_a_prefix() -> None:
    prefixes = {name: entry.prefix for name, entry in CATALOGUE.items() if entry.prefix}
    assert prefixes == {"e5-small": "query: ", "multilingual-e5-small": "query: "}
