"""Work of fixed shape, recorded once as a CUDA graph and replayed with one launch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from hybridal.errors import UserError
from hybridal.models.generators import GENERATOR_LOCK
from hybridal.models.process_settings import make_deterministic

Made = TypeVar("Made")

# A GPU runs some kernels in another way the first time: those must not be recorded.
WARM_UPS = 1

# Torch has this many streams of an urgency, and hands them out again and again.
STREAMS = 32
_LENT: set[int] = set()


class Recorder:
    """The graphs of one classifier: they share memory, since only one of them runs at a time.

    Random numbers come from a generator of its own, whose seed is read at each replay: so a graph draws fresh dropout
    masks, which depend on nothing but the seed, whatever else runs in this process.

    All are recorded on one stream that no other recorder has meanwhile. Matrix products keep scratch memory per
    stream, those of the backward half of a step for all threads together, and a graph goes on using what it was
    recorded with: two lanes that recorded on the same stream would write over each other's products.
    """

    def __init__(self, device: Any) -> None:
        # What has no orderly kernel is refused, not let pass with a warning: a graph would hold it for good.
        make_deterministic(strictly=True)
        self.device = device
        self.generator = torch.Generator(device)
        self._pool = torch.cuda.graph_pool_handle()
        self._made: dict[Hashable, Any] = {}
        self._side = _stream_of_its_own(device)

    def __del__(self) -> None:
        # Graphs first: when they go, torch frees the scratch memory of their stream.
        if side := getattr(self, "_side", None):
            self._made.clear()
            _LENT.discard(side.cuda_stream)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made under this key, or is now."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def record(self, work: Callable[[], object], inference: bool = False) -> Callable[[], None]:
        """A function that does the work again, on the same tensors. To warm up, the work is done a few times now."""
        graph, side = torch.cuda.CUDAGraph(), self._side
        with (
            _said_plainly(),
            GENERATOR_LOCK,
            self._borrowed_generator(),
            torch.inference_mode(inference),
        ):
            side.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(side):
                for _ in range(WARM_UPS):
                    work()
            side.synchronize()
            with self._pool_of_its_own(), torch.cuda.stream(side):
                # Other threads may launch work of their own meanwhile; `torch.cuda.graph` would wait for all of it.
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    work()
                finally:
                    graph.capture_end()
        torch.cuda.current_stream(self.device).wait_stream(side)
        replay: Callable[[], None] = graph.replay
        return replay

    @contextmanager
    def _pool_of_its_own(self) -> Iterator[None]:
        """A recording that failed leaves its memory as if it still went on: the next one gets other memory."""
        try:
            yield
        except BaseException:
            self._pool = torch.cuda.graph_pool_handle()
            raise

    @contextmanager
    def _borrowed_generator(self) -> Iterator[None]:
        """Dropout draws from torch's default generator, which takes our state over and leaves it as it was."""
        default = torch.cuda.default_generators[self.device.index or 0]
        seed, offset = self.generator.initial_seed(), self.generator.get_offset()
        before = default.graphsafe_get_state()
        default.graphsafe_set_state(self.generator)
        try:
            yield
        finally:
            default.graphsafe_set_state(before)
            self.generator.manual_seed(seed)
            self.generator.set_offset(offset)


def _stream_of_its_own(device: Any) -> Any:
    """One of an urgency that nobody asks for to work on."""
    with GENERATOR_LOCK:
        for number in range(2 * STREAMS):
            side = torch.cuda.Stream(device, priority=-1)
            if side.cuda_stream not in _LENT:
                _LENT.add(side.cuda_stream)
                return side
            if number == STREAMS:
                gc.collect()  # a model and its graphs refer to each other, and stay until somebody looks for them
    raise UserError(f"A process has room for {STREAMS} models on a GPU; end one of them, or use more processes.")


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Models of other people may do what no graph can hold: reading a value back, or shapes that depend on one."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as failed:
        reason = str(failed).strip().partition("\n")[0].rstrip(".")
        raise UserError(
            f"This model's work cannot be recorded as a CUDA graph ({reason}); use `arithmetic=plain` (slower).",
            field="protocol.arithmetic",
        ) from failed
