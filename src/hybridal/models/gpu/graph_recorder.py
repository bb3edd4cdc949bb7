"""Work of fixed shape, recorded once as a CUDA graph and replayed with one launch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from hybridal.errors import UserError
from hybridal.models.process_settings import make_deterministic
from hybridal.models.torch_generators import GENERATOR_LOCK

Made = TypeVar("Made")

# Some kernels run differently the first time (autotuning, lazy loading); that must not be recorded.
WARM_UPS = 1

# Torch has this many streams per priority, and hands them out in turn.
STREAMS = 32
_TAKEN: set[int] = set()


class Recorder:
    """Records the graphs of one classifier. They share memory, since only one of them runs at a time.

    Random numbers come from the recorder's own generator, whose seed is read at each replay. So each replay draws fresh
    dropout masks that depend on the seed only, whatever else runs in the process.

    All graphs are recorded on a CUDA stream that no other recorder uses. cuBLAS keeps a workspace per stream, shared by
    the backward passes of all threads, and a graph keeps using the workspace that it was recorded with: two recorders
    on one stream would overwrite each other's products.
    """

    def __init__(self, device: Any) -> None:
        # Operations without a deterministic kernel are refused: a graph would keep them for good.
        make_deterministic(strictly=True)
        self.device = device
        self.generator = torch.Generator(device)
        self._pool = torch.cuda.graph_pool_handle()
        self._made: dict[Hashable, Any] = {}
        self._side = _exclusive_stream(device)

    def __del__(self) -> None:
        # Graphs first: torch then frees the workspace of their stream.
        if side := getattr(self, "_side", None):
            self._made.clear()
            _TAKEN.discard(side.cuda_stream)

    def cached(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The object that was made for this key; made now if there is none."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def record(self, work: Callable[[], object], inference: bool = False) -> Callable[[], None]:
        """Record `work`; the returned function repeats it on the same tensors. It runs once before, to warm up."""
        graph, side = torch.cuda.CUDAGraph(), self._side
        with (
            _unrecordable_as_user_error(),
            GENERATOR_LOCK,
            self._borrowed_generator(),
            torch.inference_mode(inference),
        ):
            side.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(side):
                for _ in range(WARM_UPS):
                    work()
            side.synchronize()
            with self._fresh_pool_after_failure(), torch.cuda.stream(side):
                # Other threads may launch work meanwhile; `torch.cuda.graph` would wait for all of it.
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    work()
                finally:
                    graph.capture_end()
        torch.cuda.current_stream(self.device).wait_stream(side)
        replay: Callable[[], None] = graph.replay
        return replay

    @contextmanager
    def _fresh_pool_after_failure(self) -> Iterator[None]:
        """A failed recording leaves its memory pool in use; the next one needs another pool."""
        try:
            yield
        except BaseException:
            self._pool = torch.cuda.graph_pool_handle()
            raise

    @contextmanager
    def _borrowed_generator(self) -> Iterator[None]:
        """Dropout draws from torch's default generator; give it our state, and restore it afterwards."""
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


def _exclusive_stream(device: Any) -> Any:
    """A CUDA stream of a priority that no other code requests."""
    with GENERATOR_LOCK:
        for number in range(2 * STREAMS):
            side = torch.cuda.Stream(device, priority=-1)
            if side.cuda_stream not in _TAKEN:
                _TAKEN.add(side.cuda_stream)
                return side
            if number == STREAMS:
                gc.collect()  # a model and its graphs form a reference cycle
    raise UserError(f"A process has room for {STREAMS} models on a GPU; end one of them, or use more processes.")


@contextmanager
def _unrecordable_as_user_error() -> Iterator[None]:
    """A graph cannot record reading a value back, or shapes that depend on a value."""
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
