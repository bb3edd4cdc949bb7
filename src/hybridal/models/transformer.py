"""The loop's model: a classifier over the texts of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import torch

from hybridal.backbones import Backbone
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN, Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.provenance import RANDOM
from hybridal.core.rules import Rules
from hybridal.measures.model_errors import pool_weights, trusted_rows
from hybridal.models.classifier_cache import classifier_for
from hybridal.models.classifier_input import Source
from hybridal.models.device import Device
from hybridal.models.encoder_check import check_forward, check_vocabulary
from hybridal.models.model_protocol import Fit
from hybridal.models.random_labels import RandomLabels
from hybridal.models.token_arrays import Progress, Tokens, no_progress, tokenise
from hybridal.models.training import fit as round_training
from hybridal.models.training import forward_passes
from hybridal.models.training.class_descriptions import class_centroids, class_descriptions
from hybridal.models.training.description_probe import description_probe, shrunk
from hybridal.models.training.encoder_losses import held_out_losses
from hybridal.models.training.examples import Examples
from hybridal.models.training.frozen_features import UNREPORTED, Features
from hybridal.models.training.losses import loss_of
from hybridal.models.training.probe import LabelledFeatures, Probe, ProbeFitter, cross_fitted, fit_probe
from hybridal.models.views import ModelView, ScoredCandidates, present
from hybridal.randomness import stream
from hybridal.system.cache import cache_dir
from hybridal.tasks.splits import draw
from hybridal.tasks.task import Split, Task
from hybridal.updates import Plan, Weights

# Unlabelled texts that label-free signals see: a share of 2% then has a standard error of 0.6 points.
SAMPLE_SIZE = 512
# Folds of cross-fitting, when there is no validation split.
FOLDS = 5
# Texts between two reports of progress.
TEXTS_PER_REPORT = UNREPORTED


class TransformerModel:
    """A classifier over the texts of one task; it implements `model_protocol.Model`.

    Args:
        task: Texts and labels.
        backbone: The encoder.
        rules: How it is trained.
        seed: Decides the head's initial weights and every random choice of training.
        device: Where it computes.
        keeps_features: Whether passes over validation return features too.
        observer: Receives progress.
    """

    def __init__(
        self,
        task: Task,
        backbone: Backbone,
        rules: Rules,
        seed: int,
        device: Device,
        keeps_features: bool = False,
        observer: Observer | None = None,
    ) -> None:
        # With a fixed validation split the pool is never used for validation; otherwise any text of it may be.
        held_out = (
            (task.validation, task.test) if rules.validation == "fixed" else (task.train, task.validation, task.test)
        )
        self._held_out_texts = [split.texts for split in held_out]
        # Class descriptions are rows after those of the pool, and are trained on like its texts.
        self._descriptions = self.class_descriptions(task.classes, task.descriptions)
        self.description_texts, self._description_classes = (
            self._descriptions if rules.use_class_descriptions else class_descriptions((), {})
        )
        parts = [[*task.train.texts, *self.description_texts], task.validation.texts, task.test.texts]
        texts = [text for part in parts for text in part]
        self.encoder = backbone.encoder(rules.max_length)
        self.observer = observer or Observer()
        tokens = tokenise(texts, self.encoder, cache_dir() / "tokens", partial(self.observer.texts_done, "tokenising"))
        pooling = backbone.pooling if rules.pooling == "auto" else rules.pooling
        self.classifier = classifier_for(backbone, task.classes, seed, device, rules.train_layers, pooling)
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        train, validation, test = (self.classifier.source(tokens.slice(*span)) for span in pairwise(ends))
        check_vocabulary(self.classifier, tokens, backbone.name)
        check_forward(self.classifier, train, backbone.name)
        self.train_source = train
        self.train_ids: Sequence[str] = task.train.ids
        self.named = np.arange(len(task.train), ends[1])
        known = _labelled(validation, task.validation if rules.validation == "fixed" else Split.empty())
        self.validation = _subset(known, rules.validation_size, seed)
        self.test_examples = _labelled(test, task.test)
        self.rules, self.seed, self.classes = rules, seed, task.classes
        self.objective, self.loss = task.objective, loss_of(task.label_sets)
        self.keeps_features = keeps_features
        self.features = Features(self.classifier, self.train_source, progress=self._texts_encoded)
        self._now = self.pretrained
        self._latest = self.features
        self._prober = ProbeFitter(seed, self._probe_fitted)
        self._probe: tuple[bytes, Probe] | None = None
        size = min(SAMPLE_SIZE, len(task.train))
        self.sample = np.sort(stream(seed, "sample").choice(len(task.train), size, replace=False))

    def class_descriptions(
        self, classes: Sequence[str], descriptions: Mapping[str, Sequence[str]]
    ) -> tuple[list[str], Ints]:
        """Descriptions of classes that may be trained on, and the class of each."""
        return class_descriptions(classes, descriptions, self._excluded if descriptions else frozenset())

    @cached_property
    def _excluded(self) -> frozenset[str]:
        return frozenset(text.strip() for texts in self._held_out_texts for text in texts)

    def reuse_features(self, other: TransformerModel, rows: Mapping[int, int]) -> None:
        """Reuse the features of a model with the same encoder; `rows` maps rows of this model to rows of the other."""
        known = {text: len(other.train_ids) + at for at, text in enumerate(other.description_texts)}
        own = {len(self.train_ids) + at: known[text] for at, text in enumerate(self.description_texts) if text in known}
        self.features.copy_from(other.features, {**rows, **own})

    @cached_property
    def sample_features(self) -> Floats:
        """The pretrained features of the sample; always of all of it, so that they are the same each time."""
        return self.features.of(self.sample) if self._keeps_frozen else self.pretrained_features(self.sample)

    def sample_logits(self, pool: Pool) -> Floats:
        """The logits of the sample, also always of all of it. If only the head changed, no text is encoded again."""
        if self.classifier.graphs is not None or self.as_probe(pool) is not None:
            return self.predict(self.sample, pool).logits
        return self.classifier.head().logits(self._cached_features(self._now).of_fixed(self.sample)).astype(np.float32)

    def _cached_features(self, weights: Weights) -> Features:
        """Cached features of the encoder with these weights; the cache holds one encoder besides the pretrained one."""
        if self.classifier.same_encoder(self._latest.weights, weights):
            self._latest.weights = weights  # so that older ones can be freed
        else:
            self._latest = Features(self.classifier, self.train_source, weights, self._texts_encoded)
        return self._latest

    def pretrained_features(self, rows: Ints) -> Floats:
        with self.classifier.using_weights(self.pretrained):
            return self._features(self.train_source, rows)

    def class_features(self) -> Floats | None:
        texts, of = self._descriptions
        return class_centroids(self.embed(texts), of, len(self.classes)) if texts else None

    def embed(self, texts: Sequence[str]) -> Floats:
        """Features of any texts from the pretrained encoder."""
        with self.classifier.using_weights(self.pretrained):
            return self.text_features(texts)

    def text_features(self, texts: Sequence[str]) -> Floats:
        """Features of any texts from the encoder as it is now."""
        tokens = Tokens.of(self.encoder.encode(texts), self.encoder.pad)
        return self._features(self.classifier.source(tokens), np.arange(len(texts)))

    def _features(self, source: Source, rows: Ints) -> Floats:
        return present(forward_passes.predict(self.classifier, source, rows, features=True).embedding)

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:
        if self.rules.head == "random" or not len(pool):
            return self.pretrained if weights is None else weights
        if weights is None:
            return self.classifier.with_head(self.pretrained, self.probe(pool))
        rows, labels = self._known(pool.order, pool)
        if self.classifier.graphs is None:
            features: Floats = self._cached_features(weights).of(rows)
        else:
            self.load(weights)
            features = self._features(self.train_source, rows)
        # A fine-tuned encoder has memorised these texts; estimate label noise with the frozen one.
        penalty, counts = self.probe(pool).penalty, pool_weights(pool, self.objective)
        if counts is not None:  # descriptions count 1
            counts = np.concatenate([counts, np.ones((len(rows) - len(counts), counts.shape[1]))])
        head = fit_probe(features, labels, self.objective, penalty, weights=counts)
        return self.classifier.with_head(weights, head)

    def _known(self, rows: Ints, pool: Pool) -> tuple[Ints, Ints]:
        """Rows with their labels, followed by the class descriptions if they do not mislead."""
        if not len(rows) or not len(self.named) or not self._uses_descriptions(pool):
            return rows, pool.labels[rows]
        return np.concatenate([rows, self.named]), np.concatenate([pool.labels[rows], self._description_classes])

    def probe(self, pool: Pool) -> Probe:
        """A logistic regression on the pretrained features of the labelled texts."""
        rows, labels = pool.order, pool.labels[pool.order]
        weights = pool_weights(pool, self.objective)
        known = rows.tobytes() + labels.tobytes() + (b"" if weights is None else weights.tobytes())
        if self._probe is None or self._probe[0] != known:  # it is needed several times in a round
            features, described = self.features.of(rows), self.description_features
            found = self._prober.best(features, labels, self.objective, described, weights)
            if len(rows) < self.rules.probe_until:  # it is the model, and no start of a training
                found = shrunk(found, (features, labels), self.objective, described, weights)
            self._probe = known, found
        return self._probe[1]

    def _probe_fitted(self, fits: int, of: int) -> None:
        self.observer.probe_fitted(fits, of)

    def _texts_encoded(self, done: int, of: int) -> None:
        self.observer.texts_done("encoding", done, of)

    def _uses_descriptions(self, pool: Pool) -> bool:
        """Whether the probe uses class descriptions; training with a random head knows no probe, and always does."""
        return self.rules.head == "random" or self.probe(pool).uses_descriptions

    @property
    def description_features(self) -> LabelledFeatures | None:
        """The pretrained features of the class descriptions and their classes; None if they are not used."""
        return (self.features.of(self.named), self._description_classes) if len(self.named) else None

    @property
    def has_class_descriptions(self) -> bool:
        """Whether the rules use class descriptions in a probe, and each class has one."""
        return self.rules.head == "probe" and {*self._description_classes.tolist()} == {*range(len(self.classes))}

    @cached_property
    def description_probe(self) -> Probe | None:
        """The probe of the class descriptions alone, for a model without labels; None if there can be none."""
        if not self.has_class_descriptions or self.description_features is None:
            return None
        return description_probe(self.sample_features, self.description_features, self.objective)

    def predict(self, rows: Ints, pool: Pool, features: bool = False, progress: Progress = no_progress) -> Outputs:
        """The outputs for texts of the pool, after training on the labels of `pool`.

        If the model is a probe, cached features of its frozen encoder are reused.
        """
        probe = self.as_probe(pool)
        if probe is None:
            return forward_passes.predict(self.classifier, self.train_source, rows, features, progress)
        for done in range(0, len(rows), TEXTS_PER_REPORT):
            self.features.of(rows[done : done + TEXTS_PER_REPORT])
            progress(min(done + TEXTS_PER_REPORT, len(rows)), len(rows))
        found = self.features.of(rows)
        return Outputs(probe.logits(found).astype(np.float32), embedding=found)

    def as_probe(self, pool: Pool) -> Probe | None:
        """The probe of these labels, if the current weights are the pretrained encoder under that probe."""
        if not self._keeps_frozen or not 0 < len(pool) < self.rules.probe_until:
            return None
        found = self.probe(pool)
        probe, now = self.classifier.with_head(self.pretrained, found), self.classifier.trainable()
        return found if all(torch.equal(now[name], values) for name, values in probe.items()) else None

    @property
    def _keeps_frozen(self) -> bool:
        """Whether frozen features are cached; recorded passes over many texts are faster than a cache filled singly."""
        return self.rules.head == "probe" and self.classifier.graphs is None

    @property
    def pretrained(self) -> Weights:
        return self.classifier.pretrained

    @property
    def validation_labels(self) -> Ints:
        return self.validation.labels

    def load(self, weights: Weights) -> None:
        self.classifier.load(weights)
        self._now = weights

    def to_device(self, weights: Weights | None) -> Weights | None:
        if weights is None:
            return None
        return {name: tensor.to(self.classifier.device.torch) for name, tensor in weights.items()}

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit:
        if self.rules.validation == "share":
            held = pool.measured()
            self.validation = Examples(self.train_source, held, pool.labels[held])
        rows = trusted_rows(pool, plan.rows, self.objective)
        examples = Examples(self.train_source, *self._known(rows, pool))
        validate = self._validate if len(self.validation.rows) else None
        labels, epoch_done = self.validation.labels, self.observer.epoch_done
        done = round_training.fit(
            self.classifier,
            plan,
            examples,
            validate,
            labels,
            self.rules,
            self.seed,
            round,
            epoch_done,
            self.loss,
        )
        self._now = done.weights
        return done

    def view(self, validation: Outputs | None, pool: Pool) -> ModelView:
        return ModelView(self, validation, pool)

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> ScoredCandidates:
        return ScoredCandidates(self, rows, pool, round, temperature)

    def cross_fitted(self, pool: Pool) -> tuple[Floats, Ints] | None:
        by_people = ~np.isin(pool.order, pool.by_model)  # a model's labels are learnt, not measured on
        if self.rules.head == "random" or by_people.sum() < 2 * FOLDS:
            return None
        labels, rng = pool.labels[pool.order], stream(self.seed, "cross", len(pool))
        probe, features, weights = self.probe(pool), self.features.of(pool.order), pool_weights(pool, self.objective)
        descriptions = self.description_features if probe.uses_descriptions else None
        logits = cross_fitted(features, labels, self.objective, rng, FOLDS, [probe.penalty], descriptions, weights)
        return logits[0][by_people], labels[by_people]

    def test(self) -> tuple[Outputs, Ints] | None:
        known = self.test_examples
        if not len(known.rows):
            return None
        return forward_passes.predict(self.classifier, known.source, known.rows), known.labels

    def held_out_losses(self, pool: Pool) -> Floats:
        """The loss of each labelled text under probes of the pretrained encoder that have not seen it."""
        rows, rng = pool.order, stream(self.seed, "encoder", len(pool))
        described = self.description_features if self._uses_descriptions(pool) else None
        return held_out_losses(self.features.of(rows), pool.labels[rows], self.objective, rng, described)

    @property
    def current(self) -> TransformerModel:
        """This model; a model with several encoders (`EncoderCandidates`) has the one in use here."""
        return self

    def relabel_validation(self, labels: Ints) -> None:
        """Validate on these labels of the validation split from now on; unknown ones are skipped."""
        rows = np.flatnonzero(labels != UNKNOWN)
        known = Examples(self.validation.source, rows, labels[rows])
        self.validation = _subset(known, self.rules.validation_size, self.seed)

    def random_labels(self, pool: Pool) -> RandomLabels:
        """The random labels that the model does not learn; validation texts of the task itself count as random."""
        known = self.validation
        if self.rules.validation == "share":
            held = pool.measured()
            held = held[pool.origins[held] >= RANDOM]
            known = Examples(self.train_source, held, pool.labels[held])
        unlabelled = self.sample[pool.labels[self.sample] == UNKNOWN]
        return RandomLabels(known, self.train_source, unlabelled, self.objective)

    def _validate(self) -> Outputs:
        return forward_passes.predict(
            self.classifier, self.validation.source, self.validation.rows, features=self.keeps_features
        )


def _labelled(source: Source, split: Split) -> Examples:
    rows = np.flatnonzero(split.labels != UNKNOWN)
    return Examples(source, rows, split.labels[rows])


def _subset(examples: Examples, size: int | None, seed: int) -> Examples:
    """`size` of the examples, stratified by class; all of them if there are fewer or `size` is None."""
    if size is None or size >= len(examples.rows):
        return examples
    kept = draw(examples.labels, [size], seed, "validation-size")[0]
    return Examples(examples.source, examples.rows[kept], examples.labels[kept])
