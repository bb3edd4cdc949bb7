"""A task: texts with stable ids, class names, and train, validation and test splits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError
from hybridal.measures.objective import Objective, objective_of
from hybridal.tasks.answers import Answer, Decisions, number_of_answer
from hybridal.tasks.class_name_checks import check_classes
from hybridal.tasks.label_values import as_type, label_text

# Hash strings in chunks: a call per string is slower than its hash, and one chunk would copy all texts.
STRINGS_PER_HASH = 4096


@dataclass(frozen=True)
class Split:
    """Texts with their ids and labels.

    Attributes:
        ids: Unique ids of the texts.
        texts: The texts.
        labels: For each text an index into the classes of the task, or -1 (`UNKNOWN`); if a text may have several
            classes, an index into the task's `label_sets`.

    Example:
        >>> Split(["a", "b"], ["good", "bad"], np.array([1, UNKNOWN]))
        Split(2 texts, 1 labelled)
    """

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        """Counts only: the texts would fill a notebook."""
        return f"Split({len(self):,} texts, {np.count_nonzero(self.labels != UNKNOWN):,} labelled)"

    def take(self, rows: Ints) -> Split:
        """Select rows.

        Args:
            rows: Row numbers, in the order of the result.

        Returns:
            A new split.

        Example:
            >>> Split(["a", "b"], ["good", "bad"], np.array([1, 0])).take(np.array([1])).texts
            ['bad']
        """
        return Split([self.ids[i] for i in rows], [self.texts[i] for i in rows], self.labels[rows])

    def joined(self, other: Split) -> Split:
        """Append the rows of another split.

        Args:
            other: A split with the same classes.

        Returns:
            A new split.

        Example:
            >>> Split(["a"], ["good"], np.array([1])).joined(Split(["b"], ["bad"], np.array([0]))).ids
            ['a', 'b']
        """
        return Split([*self.ids, *other.ids], [*self.texts, *other.texts], np.concatenate([self.labels, other.labels]))

    @classmethod
    def empty(cls) -> Split:
        """Return a split without rows.

        Returns:
            The split.

        Example:
            >>> len(Split.empty())
            0
        """
        return cls([], [], np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Task:
    """Texts to classify, with class names and three splits.

    Make one with `load_task`, `Task.from_texts`, `Task.from_pandas`, `Task.from_dataset` or `Task.from_file`.

    Attributes:
        name: Name of the task in records and reports.
        classes: Class names. A label is an index into them.
        train: Texts to learn from; all, some or none of them have labels. With all labels, labelling can be simulated.
        validation: Texts for early stopping, calibration and signals.
        test: Texts for the final evaluation.
        descriptions: Descriptions of classes, by class name; see `with_descriptions`.
        id_type: Type of the ids in the source; in a task, ids are strings.
        label_type: Type of the labels in the source; in a task, class names are strings.
        label_sets: The sets of classes by number, if a text may have several classes; else None.

    Example:
        >>> rows = Split(["a", "b"], ["good", "bad"], np.array([1, UNKNOWN]))
        >>> task = Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty())
        >>> len(task.train), task.classes[task.train.labels[0]]
        (2, 'yes')
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    descriptions: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    id_type: type = field(default=str, kw_only=True)
    label_type: type = field(default=str, kw_only=True)
    label_sets: LabelSets | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        splits = f"train={self.train}, validation={self.validation}, test={self.test}"
        several = ", several per text" if self.multi_label else ""
        return f"Task({self.name!r}, {len(self.classes)} classes{several}, {splits})"

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several classes, or none."""
        return self.label_sets is not None

    @cached_property
    def objective(self) -> Objective:
        """How logits become probabilities, predictions and metrics."""
        return objective_of(len(self.classes), self.label_sets)

    @staticmethod
    def from_texts(texts: Iterable[str], labels: Iterable[Any] | None = None, **options: Any) -> Task:
        """Make a task from lists of texts and labels.

        Args:
            texts: The texts.
            labels: Labels for all, some or none of them; None, NaN or "" is a missing label. Lists or sets mean that a
                text may have several classes, or none.
            options: See `hybridal.tasks.from_memory.from_texts`.

        Returns:
            The task, with validation and test splits drawn from the texts.

        Raises:
            UserError: If a text is empty, an id occurs twice, or the classes are not known.

        Example:
            >>> Task.from_texts(["good", "bad"] * 30, [1, 0] * 30).classes
            ('0', '1')
            >>> task = Task.from_texts(["a goal", "a meal", "hello"] * 30, [{"sport"}, {"food", "fun"}, set()] * 30)
            >>> task.classes, task.multi_label
            (('food', 'fun', 'sport'), True)
        """
        from hybridal.tasks.from_memory import from_texts

        return from_texts(texts, labels, **options)

    @staticmethod
    def from_pandas(frame: Any, text: str = "text", label: str | None = None, **options: Any) -> Task:
        """Make a task from a pandas or Polars DataFrame, or an Arrow table.

        Args:
            frame: One text per row.
            text: Column with the texts.
            label: Column with the labels; a cell with a list of classes has several.
            options: See `hybridal.tasks.from_memory.from_pandas`; `labels` names indicator columns instead.

        Returns:
            The task; its ids are the index of the frame, unless `id` names a column.

        Raises:
            UserError: If a column is missing, or for the reasons of `from_texts`.

        Example:
            >>> import pandas as pd
            >>> frame = pd.DataFrame({"body": ["good", "bad"] * 20, "kind": ["+", "-"] * 20})
            >>> Task.from_pandas(frame, text="body", label="kind").classes
            ('+', '-')
        """
        from hybridal.tasks.from_memory import from_pandas

        return from_pandas(frame, text, label, **options)

    @staticmethod
    def from_dataset(dataset: Any, text: str = "text", label: str | None = "label", **options: Any) -> Task:
        """Make a task from a `Dataset` or `DatasetDict` of Hugging Face.

        Args:
            dataset: Its splits are kept; missing ones are drawn from train.
            text: Column with the texts.
            label: Column with the labels, or with lists of them; None if there are none.
            options: See `hybridal.tasks.from_dataset.from_dataset`; `labels` names indicator columns instead.

        Returns:
            The task.

        Raises:
            UserError: If a column is missing or has the wrong type.

        Example:
            >>> from datasets import Dataset
            >>> Task.from_dataset(Dataset.from_dict({"text": ["good", "bad"] * 50, "label": ["+", "-"] * 50})).classes
            ('+', '-')
        """
        from hybridal.tasks.from_dataset import from_dataset

        return from_dataset(dataset, text, label, **options)

    @staticmethod
    def from_file(path: str | Path, text: str = "text", label: str | None = None, **options: Any) -> Task:
        r"""Make a task from a CSV, TSV, TXT, JSONL, JSON, XLSX or Parquet file.

        Args:
            path: The file.
            text: Column with the texts.
            label: Column with the labels; a cell may have several as a JSON list, or with a `label_separator`.
            options: See `hybridal.tasks.from_files.load_files`; `labels` names indicator columns instead.

        Returns:
            The task.

        Raises:
            UserError: If the file cannot be read; the message names the row and the column.

        Example:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
            >>> _ = path.write_text("text,kind\n" + "Hello,ham\nWIN NOW,spam\n" * 30)
            >>> Task.from_file(path, label="kind").classes
            ('ham', 'spam')
        """
        from hybridal.tasks.from_files import load_files

        return load_files(path, text=text, label=label, **options)

    @staticmethod
    def from_name(name: str, **options: Any) -> Task:
        """Load a benchmark or a mirrored task by name.

        Args:
            name: One of the names that `hybridal list tasks` prints.
            options: See `hybridal.load_task`.

        Returns:
            The task.

        Raises:
            UserError: If there is no task of this name, or it cannot be downloaded.

        Example:
            >>> Task.from_name("agnews").classes  # doctest: +SKIP
            ('World', 'Sports', 'Business', 'Sci/Tech')
        """
        from hybridal.tasks.task_loading import load_task

        return load_task(name, **options)

    def id(self, id: str) -> Any:
        """Convert an id back to the type that it had in the source.

        Args:
            id: An id of the task.

        Returns:
            The id as the source had it.

        Example:
            >>> Task.from_texts(["good", "bad"] * 20, [1, 0] * 20, ids=range(100, 140)).id("101")
            101
        """
        return as_type(self.id_type, id)

    def label(self, number: int) -> Any:
        """Return the class of a label number, in the type that it had in the source; or the set of classes.

        Args:
            number: A label of a split.

        Returns:
            The class, or a frozenset of classes if a text may have several; a dict of classes if some are unknown.

        Example:
            >>> Task.from_texts(["good", "bad"] * 20, [True, False] * 20).label(1)
            True
        """
        answer = self.answer(number)
        if isinstance(answer, frozenset):
            return frozenset(as_type(self.label_type, name) for name in answer)
        if isinstance(answer, Decisions):
            return {as_type(self.label_type, name): has for name, has in answer.by_class().items()}
        return as_type(self.label_type, answer)

    @property
    def class_labels(self) -> list[Any]:
        """The classes in the type that labels had in the source."""
        return [as_type(self.label_type, name) for name in self.classes]

    def answer(self, number: int) -> Answer:
        """Return the class of a label number by name; or the set of classes.

        Args:
            number: A label of a split.

        Returns:
            The name, or a frozenset of names if a text may have several classes; `Decisions` if some are unknown.

        Example:
            >>> Task.from_texts(["good", "bad"] * 20, [True, False] * 20).answer(1)
            'True'
        """
        if self.label_sets is None:
            return self.classes[number]
        present, absent = self.label_sets.sets[number]
        has = frozenset(self.classes[one] for one in present)
        return has if absent is None else Decisions(has, frozenset(self.classes[one] for one in absent))

    def label_number(self, answer: Answer) -> int:
        """Return the number of a label.

        Args:
            answer: A class, or a set of classes if a text may have several; a class then stands for itself alone. Or
                decisions on some of its classes.

        Returns:
            The number.

        Raises:
            UserError: If the task has no such class.

        Example:
            >>> rows = Split(["a"], ["good"], np.array([0]))
            >>> task = Task("t", ("new", "old"), rows, Split.empty(), Split.empty(), label_sets=LabelSets(2))
            >>> task.label_number(frozenset()), task.label_number("old"), task.label_number(frozenset(["old", "new"]))
            (2, 1, 3)
        """
        if self.label_sets is None:
            return self.class_index(str(answer))
        return number_of_answer(answer, self.class_index, self.label_sets)

    def class_counts(self, labels: Ints) -> Ints:
        """Return how many of the labelled texts have each class.

        Args:
            labels: Label numbers; unknown ones are left out.

        Returns:
            A number for each class.

        Example:
            >>> Task.from_texts(["good", "bad"] * 20, [1, 0] * 20).class_counts(np.array([0, 1, 1]))
            array([1, 2])
        """
        known = labels[labels != UNKNOWN]
        if self.label_sets is None:
            return np.bincount(known, minlength=len(self.classes))
        return self.label_sets.counts(known)

    def splits(self) -> Iterator[tuple[str, Split]]:
        """Yield the three splits with their names.

        Returns:
            Pairs of "train", "validation", "test" and the split.

        Example:
            >>> [(name, len(split)) for name, split in Task.from_texts(["good", "bad"] * 20, [1, 0] * 20).splits()]
            [('train', 22), ('validation', 10), ('test', 8)]
        """
        yield "train", self.train
        yield "validation", self.validation
        yield "test", self.test

    def class_index(self, name: str) -> int:
        """Return the label number of a class name.

        Args:
            name: A class name.

        Returns:
            Its index in `classes`.

        Raises:
            UserError: If the task has no such class.

        Example:
            >>> Task.from_texts(["good", "bad"] * 20, ["+", "-"] * 20).class_index("-")
            1
        """
        try:
            return self.classes.index(name)
        except ValueError:
            known = ", ".join(self.classes)
            raise UserError(f"'{name}' is not a class of task '{self.name}'; its classes are {known}.") from None

    def answers(self, ids: Iterable[Any]) -> dict[Any, Any]:
        """Return the known labels of texts, for example to simulate an annotator.

        Args:
            ids: Ids of texts of any split.

        Returns:
            Class names, or sets of them, by id, without the texts that have no label.

        Raises:
            UserError: If there is no text with an id.

        Example:
            >>> rows = Split(["7", "8"], ["good", "bad"], np.array([1, UNKNOWN]))
            >>> Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty(), id_type=int).answers([7, 8])
            {7: 'yes'}
        """
        labels = {id: label for _, split in self.splits() for id, label in zip(split.ids, split.labels, strict=True)}
        given = {id: label_text(id) for id in ids}
        for name in given.values():
            if name not in labels:
                raise UserError(f"'{name:.40}' is not the id of a text of task '{self.name}'; give ids that it has.")
        return {id: self.answer(labels[name]) for id, name in given.items() if labels[name] != UNKNOWN}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all texts, ids, labels, class names and descriptions.

        >>> rows = Split(["a"], ["good"], np.array([0]))
        >>> task = Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty())
        >>> other = replace(task, classes=("yes", "no"))
        >>> task.fingerprint == replace(task).fingerprint, task.fingerprint == other.fingerprint
        (True, False)
        """
        digest = hashlib.sha256()
        _add(digest, self.classes)
        for name, split in self.splits():
            _add(digest, [name])
            _add(digest, split.ids)
            _add(digest, split.texts)
            if self.label_sets is None:
                digest.update(np.ascontiguousarray(split.labels, dtype="<i8").tobytes())
            else:  # numbers of sets depend on the order in which they occurred
                known = [self.label_sets.sets[label] if label != UNKNOWN else None for label in split.labels]
                _add(digest, ["several", *map(str, known)])
        for name, texts in sorted(self.descriptions.items()):
            _add(digest, [name, *texts])
        return digest.hexdigest()

    def with_descriptions(self, descriptions: Mapping[Any, str | Sequence[str]]) -> Task:
        """Add descriptions of classes.

        If the protocol sets `use_class_descriptions`, a model trains on them as on labelled texts. With few labels they
        help a lot, if all classes have descriptions of similar length. Descriptions that are also validation or test
        texts are not used.

        Args:
            descriptions: By class name, one text or several, such as a description and examples. An empty list removes
                the earlier ones of a class.

        Returns:
            A new task.

        Raises:
            UserError: If a class is unknown, or a text is empty.

        Example:
            >>> rows = Split(["a"], ["Where is Oslo?"], np.array([UNKNOWN]))
            >>> task = Task("tiny", ("HUM", "LOC"), rows, Split.empty(), Split.empty())
            >>> task.with_descriptions({"LOC": "a city, a country or a river"}).descriptions
            {'LOC': ('a city, a country or a river',)}
        """
        if not isinstance(descriptions, Mapping):
            raise UserError(f"Descriptions are a mapping of class names to texts, not {descriptions!r:.40}.")
        found = {label_text(name): _descriptions(label_text(name), texts) for name, texts in descriptions.items()}
        for name in found:
            self.class_index(name)
        return replace(
            self, descriptions={name: texts for name, texts in {**self.descriptions, **found}.items() if texts}
        )

    def merged(self) -> Task:
        """Append the validation texts to the training texts.

        Returns:
            A new task without a validation split.

        Example:
            >>> rows = Split(["a"], ["good"], np.array([0]))
            >>> task = Task("tiny", ("no", "yes"), rows, Split(["b"], ["bad"], np.array([1])), Split.empty()).merged()
            >>> task.train.ids, task.train.labels.tolist(), len(task.validation)
            (['a', 'b'], [0, 1], 0)
        """
        return replace(self, train=self.train.joined(self.validation), validation=Split.empty())

    def only(self, classes: Sequence[str]) -> Task:
        """Keep some of the classes; texts without a label stay.

        Args:
            classes: Names of the classes to keep, in their new order. Texts of other classes are dropped; if a text may
                have several classes, it stays and loses the others.

        Returns:
            A new task.

        Raises:
            UserError: If a class is unknown, or no text is left.

        Example:
            >>> rows = Split(["a", "b", "c"], ["good", "bad", "so so"], np.array([2, 0, 1]))
            >>> task = Task("tiny", ("no", "hm", "yes"), rows, Split.empty(), Split.empty()).only(["yes", "no"])
            >>> list(zip(task.train.ids, task.train.labels.tolist()))
            [('a', 0), ('b', 1)]
        """
        check_classes(classes)
        unknown = [name for name in classes if name not in self.classes]
        if unknown:
            raise UserError(
                f"`classes`: task '{self.name}' has no class '{unknown[0]}'; it has {', '.join(self.classes)}.",
                field="classes",
            )
        kept = [self.classes.index(name) for name in classes]
        if self.label_sets is not None:
            sets, numbers = self.label_sets.renumbered(kept)
            keep_all = replace(self, label_sets=sets)._with
            return keep_all("classes", tuple(classes), lambda split: replace(split, labels=numbers[split.labels]))
        dropped = -2
        renumber = np.full(len(self.classes) + 1, dropped, dtype=np.int64)
        renumber[UNKNOWN] = UNKNOWN
        renumber[kept] = np.arange(len(kept))

        def keep(split: Split) -> Split:
            labels = renumber[split.labels]
            rows = np.flatnonzero(labels != dropped)
            return replace(split.take(rows), labels=labels[rows])

        return self._with("classes", tuple(classes), keep)

    def short(self, max_words: int) -> Task:
        """Drop texts with more than `max_words` words.

        Args:
            max_words: The maximum number of words, separated by blanks.

        Returns:
            A new task.

        Raises:
            UserError: If no text is left.

        Example:
            >>> rows = Split(["a", "b"], ["good", "not so good"], np.array([1, 0]))
            >>> Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty()).short(2).train.ids
            ['a']
        """

        def keep(split: Split) -> Split:
            rows = [row for row, text in enumerate(split.texts) if len(text.split()) <= max_words]
            return split.take(np.array(rows, dtype=np.int64))

        return self._with("max_words", self.classes, keep)

    def _with(self, field: str, classes: tuple[str, ...], keep: Callable[[Split], Split]) -> Task:
        task = replace(
            self,
            classes=classes,
            train=keep(self.train),
            validation=keep(self.validation),
            test=keep(self.test),
            descriptions={name: texts for name, texts in self.descriptions.items() if name in classes},
        )
        if not len(task.train):
            raise UserError(
                f"`{field}`: no text of task '{self.name}' is left to learn from; ask for more.", field=field
            )
        return task


def _descriptions(name: str, given: Any) -> tuple[str, ...]:
    """Return one or several descriptions of a class, and refuse empty ones and broken characters."""
    texts = [given] if isinstance(given, str | bytes) or not isinstance(given, Sequence) else given
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"The description of class '{name:.40}' is {text!r:.40}; write words.")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UserError(f"The description of class '{name:.40}' contains a broken Unicode character; remove it.")
    return tuple(texts)


def _add(digest: hashlib._Hash, strings: Sequence[str]) -> None:
    """Hash each string with its length, so that one text can never hash like two."""
    digest.update(len(strings).to_bytes(8, "little"))
    for start in range(0, len(strings), STRINGS_PER_HASH):
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings[start : start + STRINGS_PER_HASH]]
        digest.update(b"".join([part for data in encoded for part in (len(data).to_bytes(8, "little"), data)]))
