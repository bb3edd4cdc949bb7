"""A classifier as an ONNX file: token ids in, probabilities out, to be used without torch or transformers."""

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
from hybridal.models.token_arrays import Tokenizer, Tokens
from hybridal.system.files import strict_json

NAME = "model.onnx"
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "probabilities"
NEEDED = ("onnxruntime", "onnxscript")
# Old enough for the runtimes of the last years; newer versions add nothing that encoders use.
OPSET = 18
TOLERANCE = 1e-4
# Texts of many lengths: special tokens only, the usual, and longer than any encoder reads.
SAMPLES = ("", "a", "Good.", "The parcel came late, and no one could explain it.", "one more word " * 40, "x " * 9999)


class Probabilities(nn.Module):  # type: ignore[misc]
    """A classifier of transformers whose output is probabilities, by softmax or for several classes by sigmoid."""

    def __init__(self, model: Any, multi_label: bool = False) -> None:
        super().__init__()
        self.model, self.multi_label = model, multi_label

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        return logits.sigmoid() if self.multi_label else logits.softmax(dim=-1)


def check_onnx() -> None:
    """Raise a UserError if a required package is missing."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        verb = "is" if len(missing) == 1 else "are"
        raise UserError(f"{' and '.join(missing)} {verb} not installed; `pip install 'hybridal[onnx]'` brings ONNX.")


def export_onnx(
    module: nn.Module, tokenizer: Tokenizer, classes: Sequence[str], folder: Path, thresholds: Sequence[float] = ()
) -> Path:
    """Write `model.onnx` into the folder after checking that onnxruntime computes what the module computes.

    The module gives probabilities (N, C) from token ids and their mask, both (N, length), on the processor. Any number
    of texts of any length that the encoder reads may be given to the file, which also has the names of the classes and,
    with several classes per text, the probabilities from which each is given.
    A model of more than two gigabytes keeps its weights in a second file, `model.onnx.data`.
    """
    check_onnx()
    rows = tokenizer.encode(SAMPLES)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{NAME}.") as scratch:
        program = _traced(module.eval(), _batch(rows[1:4], tokenizer.pad))
        program.model.metadata_props["classes"] = strict_json(list(classes))
        if thresholds:
            program.model.metadata_props["thresholds"] = strict_json(list(thresholds))
        program.save(Path(scratch) / NAME)
        batches = [_batch([row], tokenizer.pad) for row in rows] + [_batch(rows, tokenizer.pad)]
        _check(module, Path(scratch) / NAME, batches)
        # The weights first, so that a model never appears without them.
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
    """Silence the exporter's warnings about optional packages and names."""
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
