from __future__ import annotations

import pytest
import torch

from hybridal.errors import UserError
from hybridal.model.cuda.recorder import Recorder, _said_plainly


@pytest.mark.gpu
def test_each_replay_draws_fresh_masks_that_the_seed_decides() -> None:
    device = torch.device("cuda")
    recorder, ones, kept = Recorder(device), torch.ones(4096, device=device), torch.zeros(4096, device=device)

    def work() -> None:
        kept.copy_(torch.dropout(ones, 0.5, True))

    replay = recorder.record(work)

    def masks(seed: int) -> list[torch.Tensor]:
        recorder.generator.manual_seed(seed)
        found = []
        for _ in range(3):
            replay()
            found.append(kept.clone())
        return found

    first, again, other = masks(1), masks(1), masks(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], other[0])


@pytest.mark.gpu
def test_recording_leaves_the_generators_as_they_were() -> None:
    device = torch.device("cuda")
    recorder, ones = Recorder(device), torch.ones(16, device=device)
    torch.manual_seed(3)
    expected = torch.rand(4, device=device)
    torch.manual_seed(3)
    recorder.generator.manual_seed(9)
    recorder.record(lambda: torch.dropout(ones, 0.5, True))
    assert torch.equal(torch.rand(4, device=device), expected)
    assert recorder.generator.initial_seed() == 9
    assert recorder.generator.get_offset() == 0


@pytest.mark.gpu
def test_no_recording_takes_a_stream_that_somebody_works_on() -> None:
    device = torch.device("cuda")
    recorder, ones = Recorder(device), torch.ones(16, device=device)
    at_work = {torch.cuda.Stream(device).cuda_stream for _ in range(100)}
    used = set()

    def work() -> None:
        used.add(torch.cuda.current_stream(device).cuda_stream)
        ones.mul_(1.0)

    for _ in range(40):
        recorder.record(work)
    assert used
    assert not used & at_work


def test_what_cannot_be_recorded_is_said_in_a_sentence_with_a_way_around() -> None:
    with (
        pytest.raises(UserError, match=r"recorded as a CUDA graph \(not permitted\); `--set path=plain`"),
        _said_plainly(),
    ):
        raise RuntimeError("not permitted.\nCUDA kernel errors might be reported later")
    with pytest.raises(torch.OutOfMemoryError), _said_plainly():
        raise torch.OutOfMemoryError("full")


@pytest.mark.gpu
def test_work_that_reads_a_value_back_cannot_be_recorded_and_others_still_can() -> None:
    device = torch.device("cuda")
    recorder, ones = Recorder(device), torch.ones(4, device=device)
    with pytest.raises(UserError, match="path=plain"):
        recorder.record(lambda: ones.sum().item())
    recorder.record(lambda: ones.mul_(2.0))()
    assert ones.sum().item() == 4 * 2.0**4
