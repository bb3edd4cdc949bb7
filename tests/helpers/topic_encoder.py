"""An encoder whose features tell the topics of the toy task, to be chosen before `tiny`, which knows nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from hybridal.backbones import tiny
from hybridal.system.files import read_object
from hybridal.tasks import Task
from hybridal.testing.small import _WORDS


def topic_encoder(task: Task, folder: Path) -> Path:
    """Copy `tiny` and give the words of each topic one direction, and all other pieces none."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny.folder(task), folder)
    pieces = read_object(folder / "tokenizer.json")["model"]["vocab"]
    weights = load_file(folder / "model.safetensors")
    words = weights["embeddings.word_embeddings.weight"]
    words *= 0.01
    for number, topic in enumerate(_WORDS.values()):
        for row in (pieces[word] for word in topic if word in pieces):
            words[row] = 2.0 * torch.nn.functional.one_hot(torch.tensor(number), words.shape[1])
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder
