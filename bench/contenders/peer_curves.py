"""Other tools as their documentation shows them, on texts of `bench.peers`; run in the environment of bench/peers.txt.

Where a tool does not choose texts, they are drawn at random, or with as many of each class where that is in the name:
that needs labels of more texts than are counted. All use the same encoder, but for TF-IDF.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from bench.contenders.curves import Curve, Question, play

BATCH = 51


def drawn(asked: Question, balanced: bool = False) -> NDArray[np.int64]:
    """Rows of the pool in the order in which they are labelled; at least one of each of the first two classes."""
    order = np.random.default_rng(asked.seed).permutation(len(asked.pool))
    labels = np.array(asked.labels)[order]
    if balanced:
        nth = np.array([int((labels[:at] == label).sum()) for at, label in enumerate(labels)])
        return order[np.argsort(nth, kind="stable")]
    if len(set(labels[: asked.counts[0]].tolist())) > 1:
        return order
    other = int(np.flatnonzero(labels != labels[0])[0])
    return np.concatenate([order[[other]], np.delete(order, other)])


def embeddings(asked: Question, texts: list[str]) -> NDArray[np.float32]:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(asked.backbone, device=asked.device)
    encoder.max_seq_length = asked.length
    return np.asarray(encoder.encode(texts, show_progress_bar=False), dtype=np.float32)


def with_all_classes(model: LogisticRegression, probabilities: NDArray[Any], classes: int) -> NDArray[np.float64]:
    """Probabilities of all classes; one without a label gets none."""
    found = np.zeros((len(probabilities), classes))
    found[:, model.classes_] = probabilities
    return found


def tfidf(asked: Question) -> Curve:
    """scikit-learn's defaults; the vocabulary is that of the labelled texts."""
    rows, labels = drawn(asked), np.array(asked.labels)
    for count in asked.counts:
        some = rows[:count]
        words = TfidfVectorizer()
        known = words.fit_transform([asked.pool[row] for row in some])
        model = LogisticRegression(max_iter=1000).fit(known, labels[some])
        yield with_all_classes(model, model.predict_proba(words.transform(asked.test)), len(asked.classes))


def frozen(
    weights: str | None = None, names: bool = False, inverse_penalty: float = 1.0
) -> Callable[[Question], Curve]:
    """A logistic regression on embeddings of labels drawn at random, by default with scikit-learn's defaults."""

    def curve(asked: Question) -> Curve:
        rows, labels, classes = drawn(asked)[: asked.counts[-1]], np.array(asked.labels), len(asked.classes)
        words = [re.sub(r"[^\w]|_", " ", name) for name in asked.classes] if names else []
        found = embeddings(asked, [*words, *(asked.pool[row] for row in rows), *asked.test])
        named, known, test = np.split(found, [len(words), len(words) + len(rows)])
        for count in asked.counts:
            model = LogisticRegression(C=inverse_penalty, max_iter=1000, class_weight=weights)
            targets = np.concatenate([np.arange(len(words)), labels[rows[:count]]]).astype(int)
            model.fit(np.vstack([named, known[:count]]), targets)
            yield with_all_classes(model, model.predict_proba(test), classes)

    return curve


def scikit_activeml(asked: Question) -> Curve:
    """Margin sampling over embeddings of the whole pool, its own wrapper of a logistic regression as the model."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    found = embeddings(asked, [*asked.pool, *asked.test])
    pool, test = found[: len(asked.pool)], found[len(asked.pool) :]
    labels = np.full(len(pool), np.nan)
    model = SklearnClassifier(LogisticRegression(max_iter=1000), classes=range(len(asked.classes)))
    query = UncertaintySampling(method="margin_sampling", random_state=asked.seed)
    first = drawn(asked)[: asked.counts[0]]
    labels[first] = np.array(asked.labels)[first]
    for count in asked.counts:
        while (missing := count - int((~np.isnan(labels)).sum())) > 0:
            chosen = query.query(X=pool, y=labels, clf=model, batch_size=min(BATCH, missing))
            labels[chosen] = np.array(asked.labels)[chosen]
        yield model.fit(pool, labels).predict_proba(test)


def setfit(balanced: bool) -> Callable[[Question], Curve]:
    """SetFit's Trainer: one epoch over pairs, then a logistic regression."""

    def curve(asked: Question) -> Curve:
        from datasets import Dataset
        from setfit import SetFitModel, Trainer, TrainingArguments

        rows = drawn(asked, balanced)
        for count in asked.counts:
            model = SetFitModel.from_pretrained(asked.backbone, device=asked.device)
            model.model_body.max_seq_length = asked.length
            known = Dataset.from_dict(
                {
                    "text": [asked.pool[row] for row in rows[:count]],
                    "label": [asked.labels[row] for row in rows[:count]],
                }
            )
            options = TrainingArguments(
                output_dir=tempfile.mkdtemp(),
                batch_size=16,
                num_epochs=1,
                num_iterations=asked.pairs,
                seed=asked.seed,
                report_to="none",
                save_strategy="no",
                show_progress_bar=False,
            )
            Trainer(model=model, args=options, train_dataset=known).train()
            yield with_all_classes(model.model_head, np.asarray(model.predict_proba(asked.test)), len(asked.classes))

    return curve


def small_text_transformer(asked: Question) -> Curve:
    """small-text with its transformer classifier and the defaults of it."""
    from small_text import TransformerBasedClassificationFactory, TransformerModelArguments, TransformersDataset
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    if not hasattr(PreTrainedTokenizerBase, "encode_plus"):  # transformers 5 dropped this other name
        PreTrainedTokenizerBase.encode_plus = PreTrainedTokenizerBase.__call__
    tokenizer, classes = AutoTokenizer.from_pretrained(asked.backbone), len(asked.classes)

    def dataset(texts: list[str], labels: NDArray[np.int64]) -> Any:
        return TransformersDataset.from_arrays(texts, labels, tokenizer, np.arange(classes), max_length=asked.length)

    factory = TransformerBasedClassificationFactory(
        TransformerModelArguments(asked.backbone), classes, kwargs={"device": asked.device}
    )
    yield from small_text(asked, factory, dataset)


def small_text_setfit(asked: Question) -> Curve:
    """small-text with its classifier around SetFit, trained from scratch in each round."""
    from small_text import SetFitClassificationFactory, SetFitModelArguments, TextDataset
    from small_text.integrations.transformers.classifiers import setfit as classifier

    if not hasattr(np.lib, "index_tricks"):  # numpy 2 made it private
        np.lib.index_tricks = SimpleNamespace(IndexExpression=type(np.s_))  # type: ignore[attr-defined]
    classifier.int_dtype = lambda: np.int32  # with numpy 2 it is unsigned, and its seeds are too large
    classes = len(asked.classes)

    def dataset(texts: list[str], labels: NDArray[np.int64]) -> Any:
        return TextDataset.from_arrays(texts, labels, target_labels=np.arange(classes))

    options = {
        "max_seq_len": asked.length,
        "device": asked.device,
        "trainer_kwargs": {"num_iterations": asked.pairs, "num_epochs": 1},
    }
    factory = SetFitClassificationFactory(SetFitModelArguments(asked.backbone), classes, options)
    yield from small_text(asked, factory, dataset)


def small_text(asked: Question, factory: Any, dataset: Callable[[list[str], NDArray[np.int64]], Any]) -> Curve:
    """Breaking ties, the strategy that its authors found best. Chance comes from the global generators."""
    import torch
    from small_text import BreakingTies, PoolBasedActiveLearner

    np.random.seed(asked.seed)  # noqa: NPY002
    torch.manual_seed(asked.seed)
    labels = np.array(asked.labels)
    learner = PoolBasedActiveLearner(factory, BreakingTies(), dataset(asked.pool, labels))
    first = drawn(asked)[: asked.counts[0]]
    learner.initialize_data(first, labels[first])
    test, taught = dataset(asked.test, np.zeros(len(asked.test), dtype=np.int64)), asked.counts[0]
    for count in asked.counts:
        while taught < count:
            chosen = learner.query(num_samples=min(BATCH, count - taught))
            learner.update(labels[chosen])
            taught += len(chosen)
        yield learner.classifier.predict_proba(test)


LEARNERS: dict[str, Callable[[Question], Curve]] = {
    "tfidf": tfidf,
    "frozen": frozen(),
    "frozen, C=30": frozen(inverse_penalty=30.0),
    "frozen, balanced weights": frozen("balanced"),
    "frozen, names": frozen(names=True),
    "scikit-activeml": scikit_activeml,
    "small-text": small_text_transformer,
    "small-text, setfit": small_text_setfit,
    "setfit": setfit(balanced=False),
    "setfit, balanced labels": setfit(balanced=True),
}

if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    play(LEARNERS)
