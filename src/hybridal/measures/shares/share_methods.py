"""The methods paragraph of a publication, in English like the publications that it is for."""

from __future__ import annotations

from hybridal import __version__
from hybridal.measures.shares.groups import By
from hybridal.measures.shares.share_sentences import confidence_of, unit_of
from hybridal.measures.shares.share_table import ShareTable
from hybridal.sentences import Sentence


def methods(table: ShareTable) -> str:
    """Return a paragraph for the methods section of a publication."""
    basis = table.basis
    parts = [
        Sentence(
            "The shares of {classes} in {texts} texts were estimated from {labels} labels that people gave to texts "
            "drawn at random ({draws}), and from the predictions of a classifier for all texts ({model}; hybridal "
            "{version}).",
            classes=Sentence.plural("{n} class", "{n} classes", len(table.classes)),
            texts=f"{basis.texts:,}",
            labels=f"{basis.labels:,}",
            draws=Sentence.plural("{n} draw", "{n} draws", basis.draws),
            model=basis.model or "a text classifier",
            version=__version__,
        )
    ]
    if table.several:
        parts.append(Sentence("A text may belong to several classes or to none; each class was estimated by itself."))
    if basis.others:
        parts.append(
            Sentence.plural(
                "{n} other labelled text, chosen by the model or brought along, was counted with its label and stands "
                "for no other text.",
                "{n} other labelled texts, chosen by the model or brought along, were counted with their labels and "
                "stand for no other texts.",
                basis.others,
            )
        )
    learnt = basis.labels - basis.crossed
    if learnt:
        parts.append(Sentence("The classifier had not learnt the random labels with which it was compared."))
    if basis.crossed:
        parts.append(
            Sentence.plural(
                "{n} random label that it had learnt was compared with the prediction of a classifier fitted without "
                "it (cross-fitting).",
                "{n} random labels that it had learnt were compared with predictions of classifiers fitted without "
                "them (cross-fitting in five folds).",
                basis.crossed,
            )
        )
    if basis.unanswered:
        parts.append(
            Sentence.plural(
                "{n} text that was drawn has no label; it is taken to be like the others.",
                "{n} texts that were drawn have no label; they are taken to be like the others.",
                basis.unanswered,
            )
        )
    if basis.picked:
        parts.append(
            Sentence.plural(
                "{n} of the random labels was given out of turn, by a person who looked for the text.",
                "{n} of the random labels were given out of turn, by people who looked for the texts.",
                basis.picked,
            )
        )
    if basis.uncovered:
        parts.append(
            Sentence.plural(
                "{n} text was added after the draws; the intervals contain every share that it can have.",
                "{n} texts were added after the draws; the intervals contain every share that they can have.",
                basis.uncovered,
            )
        )
    parts.append(
        Sentence(
            "The estimates are prediction-powered and design-based: the mean error of the predictions on the random "
            "labels, weighted by the probability of the draw and with a tuned weight λ of the predictions, corrects "
            "their mean over all texts. So they are unbiased whatever the errors of the classifier are "
            "(arXiv:2311.01453, arXiv:2306.04746)."
        )
    )
    parts.append(
        Sentence(
            "Intervals contain the true value with {confidence} confidence each, not jointly. They are those of a "
            "Bayesian bootstrap with half an observation at either bound, less where predictions widen the range, "
            "which for labels alone is the Jeffreys interval, with a correction for the finite number of texts.",
            confidence=confidence_of(table),
        )
    )
    if table.of("difference"):
        parts.append(
            Sentence(
                "Intervals of differences combine those of the two shares (method of variance estimates recovery)."
            )
        )
    if table.of("trend"):
        parts.append(
            Sentence(
                "Trends are slopes of least-squares lines through the labels of all texts, in percentage points per "
                "{unit}.",
                unit=unit_of(table),
            )
        )
    if table.without:
        parts.append(
            Sentence.plural(
                "{n} text has no value in the column {column} and is in no group.",
                "{n} texts have no value in the column {column} and are in no group.",
                table.without,
                column=By.of(table.by).column,
            )
        )
    return Sentence.sequence(*parts)
