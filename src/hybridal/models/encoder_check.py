"""Check that an encoder can classify texts at all, before anything is trained."""

from __future__ import annotations

import numpy as np
import torch

from hybridal.errors import UserError, reason
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_input import Source
from hybridal.models.token_arrays import Tokens


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
