"""Check that an encoder can classify texts at all, before anything is trained.

`python -m hybridal.models.encoder_check FOLDER` does so for a program that does not load torch itself.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from hybridal.backbones import Backbone, load_backbone
from hybridal.core.rules import Rules, protocol
from hybridal.errors import UserError, reason
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_input import Source
from hybridal.models.device import choose_device
from hybridal.models.token_arrays import Tokens, tokenise
from hybridal.tasks import Split, Task

SAMPLE = ("A text.", "Another, slightly longer text.")


def check_encoder(backbone: Backbone, rules: Rules, texts: Sequence[str] = SAMPLE) -> None:
    """Load an encoder and read some texts with it, as a run does at its start.

    Args:
        backbone: The encoder.
        rules: How it is used.
        texts: The texts.

    Raises:
        UserError: It cannot be loaded, or cannot classify texts.
    """
    pooling = backbone.pooling if rules.pooling == "auto" else rules.pooling
    classifier = Classifier(backbone, ("a", "b"), 0, choose_device("cpu"), rules.train_layers, pooling)
    with tempfile.TemporaryDirectory() as folder:
        tokens = tokenise(texts, backbone.encoder(rules.max_length), Path(folder) / "tokens")
        check_vocabulary(classifier, tokens, backbone.name)
        check_forward(classifier, tokens, backbone.name)


def check_vocabulary(classifier: Classifier, tokens: Tokens, name: str) -> None:
    """Refuse a tokenizer of another encoder: its ids would lie outside of the embedding table.

    Args:
        classifier: The encoder under its head.
        tokens: All texts that it will read.
        name: Of the backbone.

    Raises:
        UserError: A token has no embedding.
    """
    size = getattr(classifier.module.config, "vocab_size", None)
    highest = int(tokens.flat.max(initial=0))
    if size is not None and highest >= size:
        raise UserError(
            f"Backbone '{name}' has embeddings for {size} tokens, but its tokenizer gives the id {highest}: the two do "
            "not belong together; save the encoder's own tokenizer in its folder.",
            field="backbone",
        )


def check_forward(classifier: Classifier, source: Source, name: str) -> None:
    """Refuse an architecture that cannot classify a batch of two texts.

    Transformers loads decoders without a padding token, decoders that need a second input, and models of images, and
    fails in their first pass. Our own encoders need no check.

    Args:
        classifier: The encoder under its head.
        source: Texts of which the first is read, twice.
        name: Of the backbone.

    Raises:
        UserError: The pass failed, or its logits or features have another shape.
    """
    if classifier.has_own_encoder:
        return
    try:
        with torch.inference_mode():
            output = classifier.run(classifier.padded(source, np.zeros(2, dtype=np.int64)))
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        why = reason(error)
    else:
        logits, embedding = tuple(output.logits.shape), tuple(output.embedding.shape)
        if logits == (2, len(classifier.classes)) and len(embedding) == 2:
            return
        why = f"two texts have logits of shape {logits} and features of shape {embedding}"
    kind = classifier.module.config.model_type
    raise UserError(
        f"Backbone '{name}' ({kind}) cannot classify texts: {why}; choose an encoder, such as `backbone=minilm`.",
        field="backbone",
    )


def main(folder: str) -> int:
    """Return 0 if the encoder can classify texts by the default protocol; otherwise print why not."""
    no_texts = Task("", (), Split.empty(), Split.empty(), Split.empty())
    try:
        check_encoder(load_backbone(folder, no_texts), protocol("best"))
    except UserError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
