from __future__ import annotations

from typing import Any

import pytest
import torch

from hybridal.models.training.adamw import PARTS, AdamW


@pytest.mark.parametrize("as_tensor", [False, True])
def test_adamw_equals_torch_to_the_last_bit(as_tensor: bool) -> None:
    shapes = {"matrix": (7, 5), "vector": (33,), "unused": (4,)}
    ours: dict[str, Any] = {name: torch.nn.Parameter(torch.randn(shape)) for name, shape in shapes.items()}
    theirs: dict[str, Any] = {name: torch.nn.Parameter(value.detach().clone()) for name, value in ours.items()}
    optimizer, expected = AdamW(ours, decay=0.1), torch.optim.AdamW(theirs.values(), weight_decay=0.1, fused=True)
    for rate in (1e-3, 5e-2, 0.0, 1e-4):
        optimizer.clear()
        for name in ("matrix", "vector"):
            ours[name].grad = torch.randn(shapes[name])
            theirs[name].grad = ours[name].grad.clone()
        expected.param_groups[0]["lr"] = rate
        expected.step()
        optimizer.step(torch.tensor(rate) if as_tensor else rate)
    assert all(torch.equal(ours[name], theirs[name]) for name in shapes)
    wanted = {f"{part}/{name}": expected.state[theirs[name]][part] for name in ("matrix", "vector") for part in PARTS}
    found = optimizer.moments()
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
