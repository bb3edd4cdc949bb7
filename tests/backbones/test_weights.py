from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.backbones.weights import check_weights
from hybridal.errors import UserError


@pytest.mark.parametrize("files", [["model.safetensors"], ["a-00001-of-2.safetensors", "pytorch_model.bin"], []])
def test_safetensors_are_enough(files: list[str], tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).touch()
    check_weights(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        ["pytorch_model.bin"],
        ["pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json"],
        ["model.pt"],
        ["model.safetensors", "adapter_config.json", "adapter_model.bin"],
    ],
)
def test_a_pickle_is_refused_with_the_way_to_convert_it(files: list[str], tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(UserError, match=r"only, a pickle, which runs code .* convert it once: .*save_pretrained"):
        check_weights(tmp_path)
