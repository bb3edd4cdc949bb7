from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import pytest
import torch

from hybridal.errors import UserError
from hybridal.models.gpu.graph_recorder import STREAMS, WARM_UPS, Recorder, _unrecordable_as_user_error


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
def test_recording_uses_an_idle_stream() -> None:
    device = torch.device("cuda")
    ones = torch.ones(16, device=device)
    at_work = {torch.cuda.Stream(device).cuda_stream for _ in range(100)}
    used: list[int] = []

    def work() -> None:
        used.append(torch.cuda.current_stream(device).cuda_stream)
        ones.mul_(1.0)

    recorders: list[Recorder] = []
    graphs: list[Callable[[], None]] = []  # held: memory that no graph uses any more cannot be recorded into

    def take_all() -> None:  # models of other tests may have some
        while len(recorders) <= STREAMS:
            recorders.append(Recorder(device))

    with pytest.raises(UserError, match="room for 32 models"):
        take_all()
    for recorder in recorders:
        graphs += [recorder.record(work), recorder.record(work)]
    assert len(set(used)) == len(recorders)
    assert not set(used) & at_work
    graphs.clear()
    del recorder, recorders[5:]
    Recorder(device).record(work)


@pytest.mark.gpu
def test_graphs_of_two_threads_do_not_write_over_each_others_products() -> None:
    """Backward halves of all threads run in one, so only the stream tells their scratch memory apart."""
    device = torch.device("cuda")

    def lane(seed: int, lengths: range) -> list[tuple[object, Callable[[], None], torch.Tensor]]:
        made: list[tuple[object, Callable[[], None], torch.Tensor]] = []
        recorder = Recorder(device)
        for length in lengths:
            torch.manual_seed(seed + length)
            weight = torch.randn(384, 384, device=device, dtype=torch.bfloat16, requires_grad=True)
            inputs = torch.randn(16 * length, 384, device=device, dtype=torch.bfloat16)
            kept = torch.zeros_like(weight)

            def work(weight=weight, inputs=inputs, kept=kept) -> None:  # type: ignore[no-untyped-def]
                weight.grad = None
                (inputs @ weight).float().square().mean().backward()
                kept.copy_(weight.grad)

            made.append(((recorder, work), recorder.record(work), kept))  # held: a graph does not hold what it reads
        return made

    lanes = [lane(1000 * number, range(8, 8 + 17)) for number in range(4)]  # more recordings than there are streams
    for _, replay, _ in (one for made in lanes for one in made):
        replay()
    torch.cuda.synchronize()
    alone = [[kept.clone() for *_, kept in made] for made in lanes]
    wrong = []

    def go(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream(device)):
            for _ in range(60):
                for (_, replay, kept), expected in zip(lanes[number], alone[number], strict=True):
                    replay()
                    if not torch.equal(kept, expected):
                        wrong.append(number)

    torch.cuda.synchronize()
    threads = [Thread(target=go, args=(number,)) for number in range(len(lanes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_unrecordable_work_gets_one_sentence_with_a_workaround() -> None:
    with (
        pytest.raises(UserError, match=r"recorded as a CUDA graph \(not permitted\); use `arithmetic=plain`"),
        _unrecordable_as_user_error(),
    ):
        raise RuntimeError("not permitted.\nCUDA kernel errors might be reported later")
    with pytest.raises(torch.OutOfMemoryError), _unrecordable_as_user_error():
        raise torch.OutOfMemoryError("full")


@pytest.mark.gpu
def test_work_that_reads_a_value_back_cannot_be_recorded_and_others_still_can() -> None:
    device = torch.device("cuda")
    recorder, ones = Recorder(device), torch.ones(4, device=device)
    with pytest.raises(UserError, match="arithmetic=plain"):
        recorder.record(lambda: ones.sum().item())
    recorder.record(lambda: ones.mul_(2.0))()
    assert ones.sum().item() == 4 * 2.0 ** (WARM_UPS + 1)
