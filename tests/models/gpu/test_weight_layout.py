from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hybridal.backbones import Backbone
from hybridal.models.gpu.weight_layout import flatten_parameters, parts_of, vector_slices, views_like
from hybridal.tasks import Task

from ..parts import classifier_of, random_backbone


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "mpnet"])
def test_vectors_lie_side_by_side_and_those_of_norms_first(
    architecture: str, tiny: Backbone, task: Task, tmp_path: Path
) -> None:
    module = classifier_of(random_backbone(architecture, tiny.folder, tmp_path), task).module
    parts = [parts_of(layer) for layer in module.body.layers]
    norms = [vector for part in parts for vector in part.norms]
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    array = flatten_parameters(
        module, [names[id(v)] for v in (*norms, *(bias for part in parts for bias in part.biases))]
    )
    taken = torch.zeros(len(array))
    for part, at in zip(parts, vector_slices(parts), strict=True):
        for where in vars(at).values():
            taken[where] += 1
        assert torch.equal(array[at.middle_bias], part.middle_norm.bias)
        assert torch.equal(array[at.last_gain], part.last_norm.weight)
        assert torch.equal(array[at.qkv], torch.cat([part.queries.bias, part.keys.bias, part.values.bias]))
        assert torch.equal(array[at.down], part.down.bias)
        assert at.last_bias.stop <= sum(map(len, norms))
    assert taken.eq(1).all()


def test_parameters_are_views_of_their_array() -> None:
    module = torch.nn.ParameterDict({"first": torch.full((2, 3), 1.0), "second": torch.full((4,), 2.0)})
    array = flatten_parameters(module, ["first", "second"])
    array += 1
    first, second = module["first"], module["second"]
    assert first.eq(2.0).all()
    assert [piece.shape for piece in views_like(array, [first, second])] == [(2, 3), (4,)]
    assert second.tolist() == [3.0] * 4
