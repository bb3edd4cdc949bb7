"""The classifier as an ONNX file: tokens in, probabilities out, without torch or transformers."""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.errors import UserError
from hybridal.models.token_arrays import Encoder, Tokens
from hybridal.system.files import strict_json

NAME = "model.onnx"
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "probabilities"
NEEDED = ("onnxruntime", "onnxscript")
# Old enough that runtimes of the last years read it; newer ones brought nothing that encoders use.
OPSET = 18
TOLERANCE = 1e-4
# Texts of many lengths: nothing but the special tokens, the usual, and more than any encoder reads.
SAMPLES = ("", "a", "Good.", "The parcel came late, and nobody could say why.", "one more word " * 40, "x " * 9999)


class Probabilities(nn.Module):  # type: ignore[misc]
    """What a classifier of transformers says of (input_ids, attention_mask), as probabilities."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits.softmax(dim=-1)


def check_onnx() -> None:
    """Refuses at once where the packages are missing."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(f"{' and '.join(missing)} {verb} not installed; `pip install 'hybridal[onnx]'` brings ONNX.")


def export_onnx(module: nn.Module, encoder: Encoder, classes: Sequence[str], folder: Path) -> Path:
    """Writes `model.onnx` into the folder, once onnxruntime has been seen to answer like the module.

    The module gives probabilities (N, C) from token ids and their mask, both (N, length), on the processor. Any number
    of texts of any length that the encoder reads may be given to the file, which also holds the names of the classes.
    A model of more than two gigabytes keeps its weights in a second file, `model.onnx.data`.
    """
    check_onnx()
    rows = encoder.encode(SAMPLES)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{NAME}.") as scratch:
        program = _traced(module.eval(), _batch(rows[1:4], encoder.pad))
        program.model.metadata_props["classes"] = strict_json(list(classes))
        program.save(Path(scratch) / NAME)
        batches = [_batch([row], encoder.pad) for row in rows] + [_batch(rows, encoder.pad)]
        _check(module, Path(scratch) / NAME, batches)
        # The weights first: a model must never be seen without them.
        for path in sorted(Path(scratch).iterdir(), reverse=True):
            os.replace(path, folder / path.name)
    return folder / NAME


def _batch(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    ids, mask = Tokens.of(rows, pad).batch(np.arange(len(rows)))
    return torch.from_numpy(ids), torch.from_numpy(mask)


def _traced(module: nn.Module, example: tuple[Tensor, Tensor]) -> Any:
    shape = {0: "texts", 1: "tokens"}
    try:
        with _quiet(), torch.no_grad():
            return torch.onnx.export(
                module,
                example,
                input_names=list(INPUTS),
                output_names=[OUTPUT],
                dynamic_shapes=(shape, shape),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]  # the cause; the rest is advice on reporting it
        raise UserError(f"This encoder cannot be written as ONNX: {reason}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns of packages and names that are no concern of ours."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _check(module: nn.Module, file: Path, batches: Sequence[tuple[Tensor, Tensor]]) -> None:
    runtime: Any = import_module("onnxruntime")
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    worst = 0.0
    for batch in batches:
        given = {name: values.numpy() for name, values in zip(INPUTS, batch, strict=True)}
        with torch.inference_mode():
            expected = module(*batch).numpy()
        worst = max(worst, float(np.abs(session.run([OUTPUT], given)[0] - expected).max()))
    if not worst < TOLERANCE:
        raise UserError(f"The ONNX model's probabilities differ from the classifier's by {worst:.1g}; it is not kept.")
