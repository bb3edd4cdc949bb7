from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device
from hybridal.models.encoders.rounded_linear import RoundedLinear
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.adamw import AdamW
from hybridal.models.training.examples import Examples
from hybridal.models.training.optimiser_steps import PlainSteps
from hybridal.tasks import Task

from ..parts import random_backbone, same_weights

BF16 = Device("cpu", "bf16")


@pytest.fixture
def layer() -> RoundedLinear:
    made = RoundedLinear(8, 4)
    made.load_state_dict({"weight": drawn(4, 8), "bias": drawn(4)})
    return made


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def rounded(values: Tensor) -> Tensor:
    return values.bfloat16().float()


def test_operands_are_rounded_and_the_bias_is_not(layer: RoundedLinear) -> None:
    states = drawn(1, 5, 8)
    expected = rounded(rounded(states) @ rounded(layer.weight).T) + layer.bias
    torch.testing.assert_close(layer(states), expected, rtol=2**-7, atol=0)
    with torch.inference_mode():
        assert torch.equal(layer(states), layer(states).clone())
        passed = layer(states)
    assert torch.equal(passed, layer(states))  # the same digits with and without gradients


def test_gradients_are_those_of_the_rounded_operands_in_float32(layer: RoundedLinear) -> None:
    states, outer = drawn(3, 5, 8).requires_grad_(), drawn(3, 5, 4)
    layer(states).backward(outer)
    exact = nn.Linear(8, 4)
    exact.load_state_dict({"weight": rounded(layer.weight), "bias": layer.bias})
    inputs = rounded(states.detach()).requires_grad_()
    exact(inputs).backward(rounded(outer))
    for found, expected in ((states.grad, inputs.grad), (layer.weight.grad, exact.weight.grad)):
        assert found is not None
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected, rtol=2**-7, atol=1e-5)
    torch.testing.assert_close(layer.bias.grad, outer.sum((0, 1)))


def test_each_change_of_the_weight_is_seen(layer: RoundedLinear) -> None:
    states = drawn(5, 8)

    def fresh() -> Tensor:
        other = RoundedLinear(8, 4)
        other.load_state_dict(layer.state_dict())
        return other(states).detach()

    with torch.inference_mode():  # what is rounded in a pass also serves the training
        layer(states)
    layer(states).sum().backward()
    AdamW({"weight": layer.weight, "bias": layer.bias}, 0.0).step(0.1)
    assert torch.equal(layer(states), fresh())
    with torch.no_grad():
        torch._foreach_copy_([layer.weight], [drawn(4, 8) * 2])
    assert torch.equal(layer(states), fresh())
    twin = deepcopy(layer)
    with torch.no_grad():
        twin.weight.zero_()
    assert torch.equal(twin(states), twin.bias.expand(5, 4))


@pytest.mark.parametrize("architecture", ["bert", "electra", "distilbert", "mpnet"])
def test_only_the_products_of_an_encoder_are_rounded(
    architecture: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    backbone = random_backbone(architecture, tiny.folder, tmp_path / architecture)
    classifier = Classifier(backbone, task.classes, 7, BF16, pooling="mean")
    names = {name for name, layer in classifier.module.named_modules() if isinstance(layer, RoundedLinear)}
    assert {name for name, layer in classifier.module.named_modules() if isinstance(layer, nn.Linear)} - names == {
        "classifier"
    }
    assert classifier.module.build.matmul_dtype == torch.float32  # no autocast
    tokens = Tokens.of([[5, 6, 7], [8, 9]], pad=0)
    rows = torch.arange(2).numpy()
    exact = Classifier(backbone, task.classes, 7, Device("cpu", "fp32"), pooling="mean")
    found, expected = (one.logits_of(tokens, rows) for one in (classifier, exact))
    assert found.dtype == torch.float32
    assert not torch.equal(found, expected)
    torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)


def test_training_is_repeatable_and_weights_stay_in_float32(tiny: Backbone, task: Task) -> None:
    tokens, rows = Tokens.of([[5, 6, 7, 8], [8, 9, 10], [11, 12]], pad=0), torch.arange(3).numpy()
    examples = Examples(tokens, rows, rows % len(task.classes))

    def trained() -> dict[str, Tensor]:
        classifier = Classifier(tiny, task.classes, 7, BF16, pooling="mean")
        steps = PlainSteps(classifier, protocol("best"))
        steps.begin(None)
        with classifier.training(dropout=True):
            steps.run(examples, [rows, rows], [0.01, 0.01], seed=3)
        return {**classifier.weights(), **steps.moments()}

    first = trained()
    assert same_weights(first, trained())
    assert {value.dtype for value in first.values()} == {torch.float32}
