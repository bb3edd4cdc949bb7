"""The six benchmarks of the paper: location, columns and splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """One benchmark on the Hugging Face hub and the paper's split of it.

    `pool` names the hub's splits that are merged into one; from it, after an optional stratified sample of
    `sample` rows, come validation and, unless `test` names a split of its own, the test. `fields` are the columns
    that `joint` joins to a text; where the hub has them joined already, `joined` is the column.
    `counts` gives, per class, the paper's (train, validation, test).
    """

    name: str
    hub: str
    config: str | None
    fields: tuple[str, ...]
    label: str
    counts: Mapping[str, tuple[int, int, int]]
    pool: tuple[str, ...] = ("train",)
    test: str | None = None
    joint: str = " "
    joined: str | None = None
    sample: int | None = None
    test_sample: int | None = None
    data_files: Mapping[str, str] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(self.counts)


VALIDATION_SHARE = 0.01
"""Share of the whole pool, even if the test split is drawn from it too."""

TEST_SHARE = 0.2
"""Used if the hub has no test split with labels."""

_YAHOO_TOPICS = (
    "Society & Culture",
    "Science & Mathematics",
    "Health",
    "Education & Reference",
    "Computers & Internet",
    "Sports",
    "Business & Finance",
    "Entertainment & Music",
    "Family & Relationships",
    "Politics & Government",
)

_SETS = (
    Benchmark(
        name="imdb",
        hub="stanfordnlp/imdb",
        config=None,
        fields=("text",),
        label="label",
        counts={"negative": (19_750, 250, 5_000), "positive": (19_750, 250, 5_000)},
        pool=("train", "test"),
    ),
    Benchmark(
        name="jigsaw",
        hub="thesofakillers/jigsaw-toxic-comment-classification-challenge",
        config=None,
        fields=("comment_text",),
        label="toxic",
        counts={"non-toxic": (113_978, 1_443, 28_856), "toxic": (12_082, 153, 3_059)},
        # The repository has files with other columns, which cannot be loaded together with this one.
        data_files={"train": "train.csv"},
    ),
    Benchmark(
        name="sst2",
        hub="nyu-mll/glue",
        config="sst2",
        fields=("sentence",),
        label="label",
        counts={"negative": (29_482, 298, 428), "positive": (37_193, 376, 444)},
        # GLUE does not publish the labels of its test split.
        test="validation",
    ),
    Benchmark(
        name="tweeteval",
        hub="cardiffnlp/tweet_eval",
        config="sentiment",
        fields=("text",),
        label="label",
        counts={"negative": (7_331, 74, 3_972), "neutral": (21_326, 216, 5_937), "positive": (18_481, 187, 2_375)},
        pool=("train", "validation"),
        test="test",
    ),
    Benchmark(
        name="agnews",
        hub="fancyzhx/ag_news",
        config=None,
        fields=("title", "description"),
        joint=". ",
        joined="text",
        label="label",
        counts=dict.fromkeys(("World", "Sports", "Business", "Sci/Tech"), (29_700, 300, 1_900)),
        test="test",
    ),
    Benchmark(
        name="yahoo",
        hub="community-datasets/yahoo_answers_topics",
        config=None,
        fields=("question_title", "best_answer"),
        label="topic",
        counts=dict.fromkeys(_YAHOO_TOPICS, (4_950, 50, 1_000)),
        test="test",
        sample=50_000,
        test_sample=10_000,
    ),
)

BENCHMARKS: Mapping[str, Benchmark] = {benchmark.name: benchmark for benchmark in _SETS}
"""By name.

>>> list(BENCHMARKS)
['imdb', 'jigsaw', 'sst2', 'tweeteval', 'agnews', 'yahoo']
"""
