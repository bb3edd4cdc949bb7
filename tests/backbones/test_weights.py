from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from hybridal.backbones.weights import check_weights
from hybridal.errors import UserError


@pytest.mark.parametrize("files", [["model.safetensors"], ["a-00001-of-2.safetensors", "pytorch_model.bin"], []])
def test_safetensors_file_is_accepted(files: list[str], tmp_path: Path) -> None:
    for name in files:
        save_file({"weight": np.ones(3, dtype=np.float32)}, tmp_path / name)
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


@pytest.mark.parametrize("kept", [0, 100, 1000])
def test_weights_that_were_cut_off_are_refused(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "model.safetensors"
    save_file({"weight": np.ones((30, 30), dtype=np.float32)}, file)
    check_weights(tmp_path)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(UserError, match=r"model\.safetensors is damaged \(.*\); copy or download it again"):
        check_weights(tmp_path)
