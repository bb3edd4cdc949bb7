"""Save and load the state of a run: one safetensors file, written atomically, with a checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.label_sets import LabelSets
from hybridal.core.pool import Pool
from hybridal.core.rounds import Round
from hybridal.errors import RunError
from hybridal.loop.loop import State
from hybridal.system.files import strict_json, sync_folder

_POOL = ("labels", "order", "pending", "held", "origins", "known_from", "model_labels", "by_model")
_COUNTS = ("newest", "corrected", "withdrawn")


@dataclass(frozen=True)
class Contents:
    """A copy of a state in main memory, ready to be written."""

    round: int
    tensors: Mapping[str, Any]
    about: str

    @classmethod
    def of(cls, state: State, record: Round | None) -> Contents:
        """Copy the state after the round of `record`, or before the first round if it is None."""
        counts = {name: getattr(state.pool, name) for name in _COUNTS}
        fields = {name: getattr(state, name) for name in ("round", "update_sequence", "temperature", "trained")}
        sets = state.pool.label_sets
        several = {} if sets is None else {"thresholds": state.thresholds, "label_sets": sets.sets}
        encoder = {} if state.encoder is None else {"encoder": state.encoder.to_json()}
        about = {**fields, **counts, **several, **encoder, "record": record and record.to_json()}
        return cls(state.round, _to_tensors(state), strict_json(about))


def save(folder: Path, state: State, record: Round | None) -> Path:
    """Write the state after the round of `record`, and delete the previous one once this is durable."""
    return write(folder, Contents.of(state, record))


def write(folder: Path, contents: Contents) -> Path:
    """Write a copied state; any thread may call this.

    Raises:
        RunError: If the file could not be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    metadata = {"about": contents.about, "sha256": _digest(contents.tensors, contents.about)}
    target = folder / f"round-{contents.round:05d}.safetensors"
    scratch = folder / f".{target.name}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(dict(contents.tensors), scratch, metadata)
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
        sync_folder(folder)
    except (OSError, SafetensorError) as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise RunError(
            f"The checkpoint {target} could not be written ({error}); all recorded rounds are safe. "
            "Make room, then run `hybridal resume`."
        ) from error
    for old in (*folder.glob("*round-*"), *folder.glob(".tmp*")):  # the latter are left if safetensors is killed
        if old != target:
            old.unlink(missing_ok=True)
    return target


def load(folder: Path, label_sets: LabelSets | None = None) -> tuple[State, Round | None] | None:
    """Load the newest state and its round; return None if there is none.

    Args:
        folder: Where it was saved.
        label_sets: The sets of classes of the task, if a text may have several; labels are renumbered to these.

    Raises:
        RunError: If the file is damaged.
    """
    found = sorted(folder.glob("round-*.safetensors"))
    if not found:
        return None
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(found[-1], framework="pt") as file:
            metadata: Mapping[str, str] = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata["sha256"] != _digest(tensors, metadata["about"]):
            raise ValueError("its checksum differs")
        about = json.loads(metadata["about"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"The checkpoint {found[-1]} is damaged ({error}); all recorded rounds are safe. "
            "Run `hybridal resume --recompute` to compute its state again from the beginning."
        ) from error
    return _to_state(tensors, about, label_sets), about["record"] and Round.from_json(about["record"])


def _to_tensors(state: State) -> dict[str, Any]:
    import torch

    arrays = {f"pool/{name}": getattr(state.pool, name) for name in _POOL}
    for signal, snapshot in state.snapshots.items():
        arrays |= {f"signal/{signal}/{part}": values for part, values in snapshot.items()}
    tensors = {
        name: values.cpu() if isinstance(values, torch.Tensor) else torch.from_numpy(np.array(values))
        for name, values in arrays.items()
    }
    for kind, weights in (("weights", state.weights), ("moments", state.moments)):
        tensors |= {f"{kind}/{name}": tensor.detach().cpu().contiguous() for name, tensor in (weights or {}).items()}
    return tensors


def _to_state(tensors: Mapping[str, Any], about: Mapping[str, Any], label_sets: LabelSets | None) -> State:
    def under(prefix: str) -> dict[str, Any]:
        return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}

    snapshots: dict[str, dict[str, Any]] = {}
    for name, tensor in under("signal/").items():
        signal, part = name.split("/", 1)
        snapshots.setdefault(signal, {})[part] = tensor.numpy()
    rows = {name: tensors[f"pool/{name}"].numpy() for name in _POOL if f"pool/{name}" in tensors}
    if label_sets is not None:
        for name in ("labels", "model_labels"):
            rows[name] = label_sets.translated(rows[name], about["label_sets"])
    pool = Pool(**rows, **{name: about.get(name, 0) for name in _COUNTS}, label_sets=label_sets)
    weights, moments = under("weights/") or None, under("moments/") or None
    temperature, trained = about.get("temperature"), about.get("trained", False)
    thresholds = tuple(about.get("thresholds", ()))
    encoder = EncoderChoice.from_json(about["encoder"]) if "encoder" in about else None
    return State(
        about["round"],
        about["update_sequence"],
        pool,
        weights,
        moments,
        snapshots,
        temperature,
        trained,
        thresholds,
        encoder,
    )


def _digest(tensors: Mapping[str, Any], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        values = tensors[name].contiguous().numpy()
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(memoryview(values.reshape(-1)).cast("B"))
    return digest.hexdigest()
