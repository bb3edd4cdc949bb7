"""A task: texts with stable ids, class names, and train, validation and test splits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError

if TYPE_CHECKING:
    pass

# Strings that are hashed together: a call for each takes longer than its hash, and all at once are all texts again.
STRINGS_PER_HASH = 4096


@dataclass(frozen=True)
class Split:
    """Texts with their ids and labels; a label is an index into the task's classes, or UNKNOWN."""

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        """Without the texts: a notebook would show nothing else."""
        return f"Split({len(self):,} texts, {np.count_nonzero(self.labels != UNKNOWN):,} labelled)"

    def take(self, rows: Ints) -> Split:
        """These rows, in this order.

        >>> Split(["a", "b"], ["good", "bad"], np.array([1, 0])).take(np.array([1])).texts
        ['bad']
        """
        return Split([self.ids[i] for i in rows], [self.texts[i] for i in rows], self.labels[rows])

    def joined(self, other: Split) -> Split:
        """These rows, then the other's.

        >>> Split(["a"], ["good"], np.array([1])).joined(Split(["b"], ["bad"], np.array([0]))).ids
        ['a', 'b']
        """
        return Split([*self.ids, *other.ids], [*self.texts, *other.texts], np.concatenate([self.labels, other.labels]))

    @classmethod
    def empty(cls) -> Split:
        return cls([], [], np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Task:
    """What is to be learnt. The labels of train may be known (a simulation), partly known or unknown.

    `meanings` are what people wrote down of classes, descriptions and examples. Ids and classes are texts here;
    `id_type` and `label_type` say what they were where the task came from, and what people who use it get back.

    >>> rows = Split(["a", "b"], ["good", "bad"], np.array([1, UNKNOWN]))
    >>> task = Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty())
    >>> len(task.train), task.classes[task.train.labels[0]]
    (2, 'yes')
    >>> task.train
    Split(2 texts, 1 labelled)
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    meanings: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    id_type: type = field(default=str, kw_only=True)
    label_type: type = field(default=str, kw_only=True)

    def __repr__(self) -> str:
        splits = f"train={self.train}, validation={self.validation}, test={self.test}"
        return f"Task({self.name!r}, {len(self.classes)} classes, {splits})"

    @staticmethod
    def from_texts(texts: Iterable[str], labels: Iterable[Any] | None = None, **options: Any) -> Task:
        """Texts with labels for all, some or none of them; see `hybridal.tasks.from_memory.from_texts`."""
        from hybridal.tasks.from_memory import from_texts

        return from_texts(texts, labels, **options)

    @staticmethod
    def from_pandas(frame: Any, text: str = "text", label: str | None = None, **options: Any) -> Task:
        """The rows of a DataFrame (pandas, Polars) or Arrow table; see `hybridal.tasks.from_memory.from_pandas`."""
        from hybridal.tasks.from_memory import from_pandas

        return from_pandas(frame, text, label, **options)

    @staticmethod
    def from_dataset(dataset: Any, text: str = "text", label: str | None = "label", **options: Any) -> Task:
        """A `Dataset` or `DatasetDict` of Hugging Face; see `hybridal.tasks.from_dataset.from_dataset`."""
        from hybridal.tasks.from_dataset import from_dataset

        return from_dataset(dataset, text, label, **options)

    @staticmethod
    def from_file(path: str | Path, text: str = "text", label: str | None = None, **options: Any) -> Task:
        """A CSV, TSV, TXT, JSONL, JSON, XLSX or Parquet file; see `hybridal.tasks.from_files.load_files`."""
        from hybridal.tasks.from_files import load_files

        return load_files(path, text=text, label=label, **options)

    @staticmethod
    def from_name(name: str, **options: Any) -> Task:
        """One of the tasks that `hybridal list tasks` names; see `hybridal.tasks.load_task`."""
        from hybridal.tasks.task_loading import load_task

        return load_task(name, **options)

    def id(self, id: str) -> Any:
        """An id as it was given."""
        return as_type(self.id_type, id)

    def label(self, number: int) -> Any:
        """A class as it was given."""
        return as_type(self.label_type, self.classes[number])

    def splits(self) -> Iterator[tuple[str, Split]]:
        yield "train", self.train
        yield "validation", self.validation
        yield "test", self.test

    def class_index(self, name: str) -> int:
        """The label that stands for a class name."""
        try:
            return self.classes.index(name)
        except ValueError:
            known = ", ".join(self.classes)
            raise UserError(f"'{name}' is not a class of task '{self.name}'; its classes are {known}.") from None

    def answers(self, ids: Iterable[Any]) -> dict[Any, str]:
        """The known labels of these texts, by class name: what the annotator of a simulation says.

        >>> rows = Split(["7", "8"], ["good", "bad"], np.array([1, UNKNOWN]))
        >>> Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty(), id_type=int).answers([7, 8])
        {7: 'yes'}
        """
        labels = {id: label for _, split in self.splits() for id, label in zip(split.ids, split.labels, strict=True)}
        given = {id: label_text(id) for id in ids}
        for name in given.values():
            if name not in labels:
                raise UserError(f"'{name:.40}' is not the id of a text of task '{self.name}'; give ids that it has.")
        return {id: self.classes[labels[name]] for id, name in given.items() if labels[name] != UNKNOWN}

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any text, id, label, class name or meaning does.

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
            digest.update(np.ascontiguousarray(split.labels, dtype="<i8").tobytes())
        for name, texts in sorted(self.meanings.items()):
            _add(digest, [name, *texts])
        return digest.hexdigest()

    def described(self, meanings: Mapping[Any, str | Sequence[str]]) -> Task:
        """The task with something written down of some of its classes: a description, or several texts, as of examples.

        A model learns from it as from labels, where the protocol lets it (`names`): with few labels it is worth many,
        if about as much is said of every class. Texts that may be measured on are left out. What was said before stays,
        but for classes of which something else is said now.

        >>> rows = Split(["a"], ["Where is Oslo?"], np.array([UNKNOWN]))
        >>> task = Task("tiny", ("HUM", "LOC"), rows, Split.empty(), Split.empty())
        >>> task.described({"LOC": "a city, a country or a river"}).meanings
        {'LOC': ('a city, a country or a river',)}
        """
        if not isinstance(meanings, Mapping):
            raise UserError(f"Meanings are a mapping of class names to texts, not {meanings!r:.40}.")
        found = {label_text(name): _said(label_text(name), said) for name, said in meanings.items()}
        for name in found:
            self.class_index(name)
        return replace(self, meanings={name: texts for name, texts in {**self.meanings, **found}.items() if texts})

    def merged(self) -> Task:
        """The task without validation texts of its own: they are to choose from like the others.

        >>> rows = Split(["a"], ["good"], np.array([0]))
        >>> task = Task("tiny", ("no", "yes"), rows, Split(["b"], ["bad"], np.array([1])), Split.empty()).merged()
        >>> task.train.ids, task.train.labels.tolist(), len(task.validation)
        (['a', 'b'], [0, 1], 0)
        """
        return replace(self, train=self.train.joined(self.validation), validation=Split.empty())

    def only(self, classes: Sequence[str]) -> Task:
        """The task with these classes alone, in this order; texts whose label is unknown stay.

        >>> rows = Split(["a", "b", "c"], ["good", "bad", "so so"], np.array([2, 0, 1]))
        >>> task = Task("tiny", ("no", "hm", "yes"), rows, Split.empty(), Split.empty()).only(["yes", "no"])
        >>> list(zip(task.train.ids, task.train.labels.tolist()))
        [('a', 0), ('b', 1)]
        """
        check_classes(classes)
        is_missing = [name for name in classes if name not in self.classes]
        if is_missing:
            raise UserError(
                f"`classes`: task '{self.name}' has no class '{is_missing[0]}'; it has {', '.join(self.classes)}.",
                field="classes",
            )
        dropped = -2
        renumber = np.full(len(self.classes) + 1, dropped, dtype=np.int64)
        renumber[UNKNOWN] = UNKNOWN
        for new, name in enumerate(classes):
            renumber[self.classes.index(name)] = new

        def keep(split: Split) -> Split:
            labels = renumber[split.labels]
            rows = np.flatnonzero(labels != dropped)
            return replace(split.take(rows), labels=labels[rows])

        return self._with("classes", tuple(classes), keep)

    def short(self, max_words: int) -> Task:
        """The task without texts of more than this many words.

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
            meanings={name: texts for name, texts in self.meanings.items() if name in classes},
        )
        if not len(task.train):
            raise UserError(
                f"`{field}`: no text of task '{self.name}' is left to learn from; ask for more.", field=field
            )
        return task


def _said(name: str, said: Any) -> tuple[str, ...]:
    """What is said of a class, one text or several, each with words that can be written to a file."""
    texts = [said] if isinstance(said, str) or not isinstance(said, Sequence) else said
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"What is said of class '{name:.40}' is {text!r:.40}; give it words.")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UserError(f"What is said of class '{name:.40}' has half a character in it; leave that out.")
    return tuple(texts)


def as_type(kind: type, text: str) -> Any:
    """What an id or a label was before it became a text.

    >>> as_type(int, "7"), as_type(bool, "False")
    (7, False)
    """
    return text == "True" if kind is bool else kind(text)


def label_text(value: Any) -> str:
    """An id or a label as a text; 1.0 is 1, since a column of whole numbers with a gap holds fractions.

    A fraction is written as Python writes it, which is how NumPy columns become lists.

    >>> label_text(7), label_text(np.float64(1)), label_text("a")
    ('7', '1', 'a')
    >>> label_text(np.float32(0.1)) == label_text(float(np.float32(0.1)))
    True
    """
    value = to_python_scalar(value)
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else str(float(value))
    return str(value)


def to_python_scalar(value: Any) -> Any:
    """What a member of an enumeration of texts or numbers stands for, and is equal to; all else as it is.

    >>> class Kind(str, Enum):
    ...     HAM = "ham"
    >>> to_python_scalar(Kind.HAM), to_python_scalar(7)
    ('ham', 7)
    """
    return value.value if isinstance(value, Enum) and isinstance(value, str | int | float) else value


def is_missing(value: Any) -> bool:
    """Whether a value stands for none, as frames have it: None, NaN, NaT or NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def check_classes(classes: Sequence[str]) -> None:
    """There must be two class names or more, each different.

    >>> check_classes(["spam", "ham"])
    """
    if isinstance(classes, str):
        raise UserError(f"`classes`: '{classes:.40}' is one text; give a list of names.", field="classes")
    if len(set(classes)) < len(classes):
        twice = next(name for name in classes if list(classes).count(name) > 1)
        raise UserError(f"`classes`: '{twice}' is named twice; name each class once.", field="classes")
    if not all(name.strip() for name in classes):
        raise UserError("`classes`: a class name is empty; name each class.", field="classes")
    if len(classes) < 2:
        raise UserError(
            f"`classes`: one class, '{''.join(classes)}', leaves nothing to learn; name two or more.", field="classes"
        )


def _add(digest: hashlib._Hash, strings: Sequence[str]) -> None:
    """Each string with its length, so that no text, whatever it contains, can look like two."""
    digest.update(len(strings).to_bytes(8, "little"))
    for start in range(0, len(strings), STRINGS_PER_HASH):
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings[start : start + STRINGS_PER_HASH]]
        digest.update(b"".join([part for data in encoded for part in (len(data).to_bytes(8, "little"), data)]))
