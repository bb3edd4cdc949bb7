from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from hybridal.core.label_sets import LabelSets
from hybridal.measures.calibration import nll
from hybridal.models.training.losses import CROSS_ENTROPY, BinaryCrossEntropy, loss_of

LOGITS = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


def test_binary_cross_entropy_is_that_of_torch_summed_over_classes() -> None:
    sets = LabelSets(3)
    labels = torch.tensor([sets.number([0, 2]), sets.number([]), 1, sets.number([0, 1, 2])])
    targets = torch.tensor([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]], dtype=torch.float)
    loss = BinaryCrossEntropy(sets)
    loss.prepare("cpu")
    expected = nn.functional.binary_cross_entropy_with_logits(LOGITS, targets, reduction="none").sum(dim=1)
    torch.testing.assert_close(loss(LOGITS, labels), expected.mean())
    torch.testing.assert_close(loss(LOGITS, labels, reduction="sum"), expected.sum())
    assert loss.value(LOGITS.numpy(), labels.numpy()) == pytest.approx(float(expected.mean()), rel=1e-6)


def test_unknown_decisions_and_missing_labels_have_no_gradient() -> None:
    sets = LabelSets(3)
    labels = torch.tensor([sets.number([0], absent=[2]), -100, -1, 1])
    logits = LOGITS.clone().requires_grad_()
    loss = BinaryCrossEntropy(sets)
    loss.prepare("cpu")
    loss(logits, labels).backward()
    assert logits.grad is not None
    moved = logits.grad != 0
    assert moved.tolist() == [[True, False, True], [False] * 3, [False] * 3, [True] * 3]
    known = nn.functional.binary_cross_entropy_with_logits
    expected = known(LOGITS[0, [0, 2]], torch.tensor([1.0, 0.0]), reduction="sum")
    expected = expected + known(LOGITS[3], torch.tensor([0.0, 1.0, 0.0]), reduction="sum")
    torch.testing.assert_close(loss(LOGITS, labels), expected / 2)


def test_table_keeps_its_address_until_it_is_full() -> None:
    sets = LabelSets(3)
    loss = BinaryCrossEntropy(sets)
    loss.prepare("cpu")
    first = loss.version
    new = [sets.number([a, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    loss.prepare("cpu")
    assert loss.version == first
    torch.testing.assert_close(loss(LOGITS[:1], torch.tensor(new[:1])), _one(LOGITS[0], [1.0, 1.0, 0.0]))
    more = [sets.number([0], absent=absent) for absent in ([1], [2])] + [sets.number([1], absent=[0])]
    loss.prepare("cpu")
    loss.prepare("cpu")
    assert len({*new, *more}) == 6
    assert loss.version >= first
    torch.testing.assert_close(loss(LOGITS[:1], torch.tensor(new[:1])), _one(LOGITS[0], [1.0, 1.0, 0.0]))


def _one(logits: torch.Tensor, targets: list[float]) -> torch.Tensor:
    return nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(targets), reduction="sum")


def test_one_class_per_text_has_the_cross_entropy() -> None:
    labels = np.array([0, 2, 1, 1])
    assert loss_of(None) == CROSS_ENTROPY
    expected = nn.functional.cross_entropy(LOGITS, torch.from_numpy(labels))
    torch.testing.assert_close(CROSS_ENTROPY(LOGITS, torch.from_numpy(labels)), expected)
    assert CROSS_ENTROPY.value(LOGITS.numpy(), labels) == nll(LOGITS.numpy(), labels)


def test_losses_of_one_table_share_recorded_graphs() -> None:
    sets = LabelSets(2)
    one, same, other = BinaryCrossEntropy(sets), BinaryCrossEntropy(sets), BinaryCrossEntropy(LabelSets(2))
    assert len({one, same, other}) == 2
