"""Find the labelled texts that resemble a text, by the words that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridal.annotators import Example


class NearestTexts:
    """Labelled texts, compared by TF-IDF of words and of letters within words, so that inflections count.

    >>> nearest = NearestTexts([("It crashes", "bug"), ("How do I pay?", "question"), ("It crashed again", "bug")])
    >>> nearest.of("The app crashed", 2)
    [('It crashes', 'bug'), ('It crashed again', 'bug')]
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import and rarely needed
        from sklearn.pipeline import make_union

        self._examples = examples
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
        self._vectors = make_union(letters, words)
        texts = [text for text, _ in examples]
        self._known = self._vectors.fit_transform(texts) if any(map(str.strip, texts)) else None

    def of(self, text: str, n: int) -> list[Example]:
        """The n most similar texts with their labels, the most similar last; texts that share nothing are left out."""
        if self._known is None:
            return []
        similarity = (self._known @ self._vectors.transform([text]).T).toarray()[:, 0]
        order = np.argsort(similarity, kind="stable")[max(0, len(similarity) - n) :]
        return [self._examples[row] for row in order if similarity[row] > 0]
