"""Express one linear layer as two with a nonlinearity between them that acts as the identity.

Transformers' heads have two layers, ours has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

# tanh(x) is x where x is small. Features reach √H at most (28 where H is 768), and there it is wrong by 10⁻⁶ of x.
SMALL = 2.0**-14
# From here on GELU is the identity in float32.
LINEAR = 6.0


@dataclass(frozen=True)
class Head:
    """A head that computes `after @ φ(before @ features + before_bias) + after_bias`."""

    before: Tensor
    before_bias: Tensor
    after: Tensor
    after_bias: Tensor


@dataclass(frozen=True)
class IdentityHead:
    """For one kind of φ: `fill` makes the head that computes W f + b, `read` returns W and b of such a head."""

    fill: Callable[[Tensor, Tensor], Head]
    read: Callable[[Head], tuple[Tensor, Tensor]]


def _through_tanh(weight: Tensor, bias: Tensor) -> Head:
    """Features are scaled down to where tanh is linear, and up again after it."""
    width = weight.shape[1]
    return Head(SMALL * torch.eye(width), torch.zeros(width), weight / SMALL, bias)


def _from_tanh(head: Head) -> tuple[Tensor, Tensor]:
    return head.after * SMALL, head.after_bias


def _through_rectifier(weight: Tensor, bias: Tensor) -> Head:
    """Each logit once as it is and once negated: x = φ(x) - φ(-x), for ReLU and for GELU.

    If the width is too small for that, features are shifted to where φ is linear, which costs some digits.
    """
    classes, width = weight.shape
    if not _has_room(classes, width):
        lift = _lift(width)
        return Head(torch.eye(width), torch.full((width,), lift), weight, bias - lift * weight.sum(dim=1))
    one, rest = torch.eye(classes, dtype=weight.dtype), width - 2 * classes
    before = torch.cat([weight, -weight, weight.new_zeros(rest, width)])
    after = torch.cat([one, -one, weight.new_zeros(classes, rest)], dim=1)
    return Head(before, torch.zeros(width), after, bias)


def _from_rectifier(head: Head) -> tuple[Tensor, Tensor]:
    classes, width = head.after.shape
    if _has_room(classes, width):
        return head.before[:classes], head.after_bias
    return head.after, head.after_bias + _lift(width) * head.after.sum(dim=1)


def _has_room(classes: int, width: int) -> bool:
    return 2 * classes <= width


def _lift(width: int) -> float:
    """Normalised features reach from -√H to √H."""
    return float(math.ceil(math.sqrt(width) + LINEAR))


TANH = IdentityHead(_through_tanh, _from_tanh)
RECTIFIER = IdentityHead(_through_rectifier, _from_rectifier)
