"""`hybridal predict`: classes and calibrated probabilities for new texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.errors import RunError, UserError

if TYPE_CHECKING:
    from hybridal.learners.predictions import Promised
    from hybridal.learners.text_classifier import TextClassifier
    from hybridal.tasks.read import Rows

CONFIDENCE = 0.95
SAMPLE_SIZE = 512  # texts by which a model without labels is centred


def predict(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUN] FILE",
            help="A finished run folder or an exported model folder, unless you name classes; then a file with texts "
            "(CSV, XLSX, JSON, …), or with --ray a folder of Parquet files.",
        ),
    ],
    text: Annotated[str, typer.Option(help="Column with the texts.")] = "text",
    id: Annotated[str | None, typer.Option(help="Column with the ids (default: row numbers).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output file: .csv, .jsonl or .parquet; with --ray, a folder.")
    ] = None,
    drop_empty: o.DropEmpty = False,
    classes: Annotated[
        str | None, typer.Option(help="Without a RUN: predict these classes a,b,c by their names alone.")
    ] = None,
    descriptions: Annotated[
        Path | None,
        typer.Option(help="Without a RUN: file with descriptions of classes: JSON, YAML or CSV (class,description)."),
    ] = None,
    multi_label: Annotated[
        bool, typer.Option("--multi-label", help="Without a RUN: a text may have several classes or none.")
    ] = False,
    backbone: Annotated[str | None, typer.Option(help="Without a RUN: the encoder (default: auto).")] = None,
    max_error: Annotated[
        float | None,
        typer.Option(help="Mark each text as `answer` or `ask`: of those answered, at most this share is wrong."),
    ] = None,
    sets: Annotated[
        float | None, typer.Option(help="Write sets of classes that contain the true ones of this share of texts.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Probability with which --max-error and --sets hold.")] = CONFIDENCE,
    device: o.DeviceName = None,
    ray: Annotated[
        str | None, typer.Option(help="A Ray cluster that predicts file after file: HOST:PORT, auto or local.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Predict the class of each text of a file, with calibrated probabilities.

    If a text may have several classes, the column `labels` holds those above their thresholds, as a JSON list.

    Without a RUN, name the classes (--classes) or describe them (--descriptions): no label is needed, and the
    probabilities are cautious.

    With --max-error 0.02, the column `decision` says which texts the model answers: at most 2% of those are wrong, with
    95% confidence. With --sets 0.95, the column `set` has the possible classes of each text. Both are tested on random
    labels that the model has not learnt, and hold for texts like those.

    With --ray, predict all files of a folder on a cluster; run the same command again to predict the missing ones.
    """
    from hybridal.runs.export import model_folder
    from hybridal.system.files import strict_json
    from hybridal.tasks.table import NoColumnError

    about = Described(o.names(classes), descriptions, multi_label, backbone)
    run, file = _run_and_file(paths, about)
    if run is None and ray is not None:
        raise UserError("--ray needs a RUN or a model folder, from which the workers read the model.")
    asked = Asked(max_error, sets, confidence)
    if asked.anything and (run is None or ray is not None):
        raise UserError("--max-error and --sets need a RUN or a model folder with random labels, and no --ray.")
    try:
        if run is None:
            load = partial(about.model, rows := FileRows(file, text, id, drop_empty), device or "auto")
            found = replace(_predict_file(load, rows, out), labels_learnt=0)
        elif ray is None:
            load = partial(_load, model_folder(run), device or "auto")
            found = _predict_file(load, FileRows(file, text, id, drop_empty), out, asked)
        else:
            found = _predict_pool(model_folder(run), file, text, id, out, drop_empty, device or "auto", ray)
    except NoColumnError as error:
        raise UserError(f"{error.found}: name yours with --text and --id.") from error
    if json:
        typer.echo(strict_json({name: value for name, value in asdict(found).items() if value is not None}))
    else:
        typer.echo(found.sentence)


@dataclass(frozen=True)
class Predicted:
    """What was written where; `files` counts the predicted files of a folder, `kept` those that existed already.

    `labels_learnt` is 0 if the classes are known by names and descriptions alone. `answered` of the texts are answered
    from the confidence `threshold` on, as `random_labels` allow; a class is in a set from `set_threshold` on.
    If the texts differ from those of the random labels, `shift` is the class whose probabilities differ most clearly;
    their mean was `shift_before`, and is `shift_now`.
    """

    target: str
    predictions: int | None = None
    empty: int | None = None
    files: int | None = None
    kept: int | None = None
    labels_learnt: int | None = None
    answered: int | None = None
    max_error: float | None = None
    sets: float | None = None
    confidence: float | None = None
    threshold: float | None = None
    set_threshold: float | None = None
    random_labels: int | None = None
    shift: str | None = None
    shift_before: float | None = None
    shift_now: float | None = None

    @property
    def sentence(self) -> str:
        from hybridal.reports.number_formats import counted

        if self.predictions is not None:
            left_out = f"; {counted(self.empty, 'row')} without text skipped" if self.empty else ""
            marked = " from class names and descriptions alone, no label learnt," if self.labels_learnt == 0 else ""
            written = f"{counted(self.predictions, 'prediction')}{marked} written to {self.target}{left_out}"
            return ". ".join([written, *self._promises()])
        kept = f"; {self.kept} existed already" if self.kept else ""
        return f"Predictions of {counted(self.files or 0, 'file')} written to {self.target}{kept}"

    def _promises(self) -> Iterator[str]:
        """Say what is promised of how many texts."""
        from hybridal.measures.evidence import percent

        if self.confidence is None:
            return
        sure = f"with {percent(self.confidence)} confidence, by {self.random_labels} random labels"
        if self.answered is not None and self.max_error is not None and self.predictions:
            share = f"{self.answered} of {self.predictions} texts are answered ({self.answered / self.predictions:.0%})"
            yield f"{share}, of which at most {percent(self.max_error)} are wrong {sure}; people answer the others"
        if self.sets is not None:
            yield f"The sets contain the true classes of at least {percent(self.sets)} of the texts, {sure}"
        if self.shift is not None:
            yield (
                "But these texts differ from those of the random labels (mean probability of "
                f"'{self.shift}': {self.shift_now:.2f} instead of {self.shift_before:.2f}), "
                "so that need not hold here: label a random sample of them"
            )


@dataclass(frozen=True)
class Asked:
    """Which promises were asked for."""

    max_error: float | None = None
    sets: float | None = None
    confidence: float = CONFIDENCE

    @property
    def anything(self) -> bool:
        return self.max_error is not None or self.sets is not None

    def of(self, model: TextClassifier) -> Promised:
        """Return what a model can promise; refuse what it cannot."""
        from hybridal.learners.predictions import Promised

        evidence = model.evidence() if self.anything else None
        if evidence is None:
            return Promised()
        return Promised(
            None if self.max_error is None else evidence.kept_promise(self.max_error, self.confidence),
            None if self.sets is None else evidence.kept_rule(self.sets, self.confidence),
        )

    def about(self, promised: Promised, answered: int) -> dict[str, Any]:
        """Return the fields of `Predicted` that say what is promised."""
        tested = promised.answers or promised.sets
        if tested is None:
            return {}
        found: dict[str, Any] = {"confidence": self.confidence, "random_labels": tested.labels}
        if promised.answers is not None:
            about = {"answered": answered, "max_error": self.max_error, "threshold": promised.answers.threshold}
            found |= about
        if promised.sets is not None:
            found |= {"sets": self.sets, "set_threshold": promised.sets.threshold}
        return found


@dataclass(frozen=True)
class FileRows:
    """A file of texts, its columns, and whether rows without text are skipped."""

    file: Path
    text: str
    id: str | None
    drop_empty: bool

    def count(self) -> tuple[int, int]:
        """Check all rows; return how many texts there are, and how many rows have none."""
        from hybridal.tasks.read import count_rows

        return count_rows(self.file, self.text, id=self.id, drop_empty=self.drop_empty)

    def stream(self) -> Iterator[Rows]:
        from hybridal.tasks.read import stream_rows

        return stream_rows(self.file, self.text, id=self.id, drop_empty=self.drop_empty)

    def sample(self, size: int) -> list[str]:
        """Return a random sample of the texts, in their order; only the sample is in memory."""
        from hybridal.randomness import stream

        kept: list[tuple[float, int, str]] = []  # the texts with the smallest random numbers
        rng, before = stream(0, "sample of a file"), 0
        for rows in self.stream():
            drawn = rng.random(len(rows)).tolist()
            kept = sorted([*kept, *zip(drawn, range(before, before + len(rows)), rows.texts, strict=True)])[:size]
            before += len(rows)
        return [text for _, _, text in sorted(kept, key=itemgetter(1))]


@dataclass(frozen=True)
class Described:
    """Classes that are named or described on the command line, in place of a RUN."""

    classes: tuple[str, ...] | None
    descriptions: Path | None
    multi_label: bool
    backbone: str | None

    @property
    def is_given(self) -> bool:
        return self.classes is not None or self.descriptions is not None

    def model(self, rows: FileRows, device: str) -> TextClassifier:
        """Return a model that knows the classes by names and descriptions alone."""
        from hybridal.cli.encoder_line import encoder_line
        from hybridal.cli.plan import Notes
        from hybridal.learners.model_without_labels import model_without_labels
        from hybridal.tasks.description_files import read_descriptions

        found = {} if self.descriptions is None else read_descriptions(self.descriptions)
        classes = self.classes or tuple(map(str, found))
        texts, backbone, notes = rows.sample(SAMPLE_SIZE), self.backbone or "auto", Notes(quiet=False)
        model = model_without_labels(texts, classes, found, backbone, self.multi_label, device, notes)
        notes.message(encoder_line(model.backbone))
        return model


NOTHING_ASKED = Asked()


def _run_and_file(paths: list[Path], about: Described) -> tuple[Path | None, Path]:
    """Return the model, None if the classes are described instead, and the file."""
    if len(paths) == 2 and not (about.is_given or about.multi_label or about.backbone):
        return paths[0], paths[1]
    if len(paths) == 1 and about.is_given:
        return None, paths[0]
    if len(paths) == 1:
        raise UserError(f"Name a run or a model folder before {paths[0]}, or the classes with --classes a,b,c.")
    if len(paths) == 2:
        raise UserError(
            f"{paths[0]} knows its classes and its encoder; leave out the options for predicting without a RUN."
        )
    raise UserError(f"predict takes one file, not {len(paths) - 1}.")


def _load(folder: Path, device: str) -> TextClassifier:
    from hybridal.learners.text_classifier import TextClassifier

    return TextClassifier.load(folder, device)


def _predict_file(
    load: Callable[[], TextClassifier], rows: FileRows, out: Path | None, asked: Asked = NOTHING_ASKED
) -> Predicted:
    from hybridal.cli.progress_bars import text_progress
    from hybridal.learners.predictions import WRITERS, write_predictions

    file = rows.file
    target = out or file.with_name(f"{file.stem}-predictions.csv")
    if target.suffix not in WRITERS:
        raise UserError(f"--out {target} must end in {', '.join(WRITERS)}.")
    if not target.parent.is_dir():
        raise UserError(f"--out {target}: there is no folder {target.parent}.")
    if target.exists() and file.exists() and target.samefile(file):
        raise UserError(f"--out {target} would write over the texts; name another file.")
    # Check all rows before the first prediction: an error in the last row should not appear after an hour.
    total, empty = rows.count()
    model = load()
    promised = asked.of(model)
    with text_progress("predicting", total) as progress:
        try:
            written = write_predictions(model, rows.stream(), target, progress, promised)
        except OSError as error:
            raise RunError(
                f"--out {target} could not be written ({error.strerror}); free some space, or choose another folder."
            ) from error
    differs = written.shift if written.shift is not None and written.shift.is_likely else None
    return Predicted(
        str(target),
        predictions=total,
        empty=empty,
        **asked.about(promised, written.answered),
        shift=None if differs is None else str(model.classes[differs.column]),
        shift_before=None if differs is None else round(differs.before, 4),
        shift_now=None if differs is None else round(differs.now, 4),
    )


def _predict_pool(
    model: Path, pool: Path, text: str, id: str | None, out: Path | None, drop_empty: bool, device: str, address: str
) -> Predicted:
    from hybridal.cli.progress_bars import text_progress
    from hybridal.learners.shards import PoolPredictions, texts_in

    target = out or pool.with_name(f"{pool.name}-predictions")
    predictions = PoolPredictions(model, pool, target, text, id, drop_empty)
    missing, all_files = predictions.missing(), len(predictions.files())
    with text_progress("predicting", texts_in(missing)) as progress:
        predictions.make(address, device, progress=progress)
    return Predicted(str(target), files=len(missing), kept=all_files - len(missing))
