from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from hybridal.errors import UserError
from hybridal.models import device
from hybridal.models.device import Device, choose_device
from hybridal.models.process_settings import make_deterministic


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A GPU, as far as torch can tell; the list grows when kernels are made repeatable."""
    made: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda which: f"GPU {which.index or 0}")
    monkeypatch.setattr(device, "make_deterministic", lambda: made.append("deterministic"))
    return made


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_auto_device_without_a_gpu_is_cpu() -> None:
    assert choose_device() == choose_device("cpu") == Device("cpu", "fp32")
    assert choose_device().description == "cpu"
    assert choose_device().matmul_dtype == torch.float32
    with pytest.raises(
        UserError, match="`device` cuda was asked for, but torch sees no such GPU here; use `device=cpu`"
    ):
        choose_device("cuda:0")


def test_the_gpu_is_taken_where_there_is_one(gpu: list[str]) -> None:
    assert choose_device() == Device("cuda", "bf16")
    assert choose_device("cuda:1", "fp32", plain=True) == Device("cuda:1", "fp32", fast=False)
    assert choose_device("cuda:1").description == "GPU 1"
    assert gpu == ["deterministic"] * 3
    assert Device("cuda", "bf16").matmul_dtype == torch.bfloat16
    assert choose_device("cpu") == Device("cpu", "fp32")
    assert gpu == ["deterministic"] * 3


@pytest.mark.usefixtures("gpu")
def test_mixed_precision_is_used_only_where_it_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert choose_device("cuda") == Device("cuda", "fp32")


@pytest.mark.usefixtures("no_gpu")
def test_processors_with_instructions_for_it_compute_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    chosen = choose_device("cpu")
    assert chosen == Device("cpu", "bf16")
    assert (chosen.matmul_dtype, chosen.rounds_operands, chosen.description) == (torch.float32, True, "cpu in bf16")
    assert choose_device("cpu", "fp32") == Device("cpu", "fp32")
    assert choose_device("cpu", plain=True) == Device("cpu", "fp32", fast=False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "avx512_core")
    assert choose_device("cpu") == Device("cpu", "fp32")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_AMX")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert choose_device("cpu") == Device("cpu", "fp32")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    assert choose_device("cpu") == Device("cpu", "bf16")


@pytest.mark.parametrize("wanted", ["gpu", "xpu", "meta", "cuda:x", ""])
def test_unknown_device_is_refused(wanted: str) -> None:
    with pytest.raises(
        UserError, match=f"`device` '{wanted}' is not a device to train on; use cpu, cuda, cuda:N or mps"
    ):
        choose_device(wanted)


def test_apples_gpu_uses_the_plain_path_and_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "synchronize", lambda: waited.append("mps"))
    assert choose_device("mps") == choose_device("mps", plain=True) == Device("mps", "fp32", fast=False)
    assert choose_device("mps").description == "mps"
    choose_device("mps").synchronise()
    assert waited == ["mps"]
    assert choose_device().torch.type != "mps"


def test_apples_gpu_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(
        UserError, match="`device` mps was asked for, but torch sees no such GPU here; use `device=cpu`"
    ):
        choose_device("mps")


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of the whole process, put back after."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    yield
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


@pytest.mark.usefixtures("switches")
class TestDeterministic:
    def test_deterministic_kernels_are_requested(self) -> None:
        make_deterministic()
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"

    @pytest.mark.parametrize("calls", [(True, False), (False, True, False)])
    def test_switches_are_never_loosened(self, calls: tuple[bool, ...]) -> None:
        for strictly in calls:
            make_deterministic(strictly)
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()

    def test_a_processor_needs_no_switch_before_threads_start(self) -> None:
        device.ready_for_threads("cpu", strictly=True)
        assert not torch.are_deterministic_algorithms_enabled()


def test_a_gpu_beyond_the_last_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UserError, match=r"`device` cuda:2: this machine has 2 GPU\(s\), counted from 0"):
        choose_device("cuda:2")
