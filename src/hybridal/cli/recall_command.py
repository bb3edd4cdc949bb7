"""`hybridal recall`: certify that nearly all texts of a class are found, by a random sample of those left out."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.errors import UserError

if TYPE_CHECKING:
    from hybridal.measures.recall_certificate import RecallCertificate
    from hybridal.measures.recall_sample import RecallSample

YES, NO = ("yes", "y", "1", "true"), ("no", "n", "0", "false")
COLUMNS = ("id", "text", "belongs")


def recall(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    wanted: Annotated[str, typer.Argument(metavar="CLASS", help="The class whose texts shall be found.")],
    share: Annotated[float, typer.Option("--recall", help="Share of its texts that shall be found.")] = 0.95,
    confidence: Annotated[float, typer.Option(help="Probability with which that shall hold.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option(help="File with the sample to label, .csv (default: recall.csv in the run folder).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random sample.")] = 0,
    device: o.DeviceName = None,
    json: o.Json = False,
) -> None:
    """Certify that at least 95% of the texts of a class are found, with 95% confidence.

    Found are the texts that people labelled as the class, and those to which the model gives it. The first call writes
    a random sample of all others to a file. Write yes or no into its column `belongs` and run the same command again:
    it gives the certificate, or adds the texts that are still needed.
    """
    from hybridal.measures.error_tests import check_share
    from hybridal.measures.recall_sample import RecallSample
    from hybridal.runs.record import RunFolder
    from hybridal.system.files import read_object, strict_json, write_whole

    check_share(share, "--recall")
    check_share(confidence, "--confidence")
    folder, target = RunFolder.open(run), out or run / "recall.csv"
    if target.suffix != ".csv":
        raise UserError(f"--out {target} must end in .csv.")
    if not target.parent.is_dir():
        raise UserError(f"--out {target}: there is no folder {target.parent}.")
    order = target.with_suffix(".json")
    if target.exists() != order.exists():
        raise UserError(f"{target} and {order} belong together, and one of them is missing; delete the other.")
    if order.exists():
        try:
            sample = RecallSample.from_json(read_object(order))
        except ValueError as error:
            raise UserError(f"{order} is damaged ({error}); delete it and {target}, and begin again.") from error
        if sample.wanted != wanted:
            raise UserError(f"{target} is a sample for the class '{sample.wanted}'; name another file with --out.")
        labels = _read_labels(target)
    else:
        sample, labels = _draw(folder, wanted, seed, device or "auto"), {}
        write_whole(order, strict_json(sample.to_json()) + "\n")
    found = sample.certificate(labels, share, confidence)
    texts = dict(zip(folder.task().train.ids, folder.task().train.texts, strict=True))
    texts |= dict(zip(folder.task().validation.ids, folder.task().validation.texts, strict=True))
    listed = sample.take(max(found.labels_needed or found.sampled, len(labels)))
    if not found.holds or not target.exists():
        write_whole(target, _table(listed, texts, labels))
    left = sum(id not in labels for id in listed)
    if json:
        about = {"class": wanted, "given": sample.given, **asdict(found), "to_label": left, "file": str(target)}
        typer.echo(strict_json({name: value for name, value in about.items() if value is not None}))
    else:
        typer.echo(_sentence(sample, found, left, target))


def _draw(folder: Any, wanted: str, seed: int, device: str) -> RecallSample:
    from hybridal.learners.recall_sampling import recall_sample
    from hybridal.learners.text_classifier import TextClassifier
    from hybridal.runs.export import finished_model, finished_pool

    pool = finished_pool(folder)
    sample = recall_sample(folder.task(), pool, TextClassifier.load(finished_model(folder), device), wanted, seed)
    if not len(sample):
        raise UserError(
            f"Nothing would be left out: people or the model gave each text a class, '{wanted}' or another."
        )
    return sample


def _read_labels(path: Path) -> dict[str, bool]:
    """Read the labels of a sample; rows without one are left out."""
    from hybridal.tasks.file_formats import read_csv

    found: dict[str, bool] = {}
    for piece in read_csv(path, ["id", "belongs"]):
        for id, cell in zip(piece.columns["id"], piece.columns["belongs"], strict=True):
            word = (cell or "").strip().lower()
            if word in YES or word in NO:
                found[id] = word in YES
            elif word:
                raise UserError(f"{path}: the text '{id}' has '{word:.40}' in the column 'belongs'; write yes or no.")
    return found


def _table(ids: list[str], texts: Mapping[str, str], labels: Mapping[str, bool]) -> str:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(COLUMNS)
    words = {True: "yes", False: "no", None: ""}
    writer.writerows([id, texts.get(id, ""), words[labels.get(id)]] for id in ids)
    return table.getvalue()


def _sentence(sample: RecallSample, found: RecallCertificate, left: int, target: Path) -> str:
    from hybridal.measures.evidence import percent
    from hybridal.reports.number_formats import counted

    sure = f"with {percent(found.confidence)} confidence"
    given = f", and the model gives it to {counted(sample.given, 'text')} more" if sample.given else ""
    known = (
        f"{counted(found.found, 'text')} of it {'is' if found.found == 1 else 'are'} labelled{given}; of "
        f"{counted(found.sampled, 'random text')} of the {found.left_out} that would be left out, "
        f"{found.missed or 'none'} belong{'s' if found.missed == 1 else ''} to it"
    )
    if found.holds:
        return f"At least {percent(found.recall)} of the texts of '{sample.wanted}' are found, {sure}: {known}."
    now = f"At least {floor(100 * found.sure_recall)}% of the texts of '{sample.wanted}' are found, {sure}: {known}. "
    return now + (
        f"For {percent(found.recall)}, label {counted(left, 'text')} in {target} (yes or no in the column 'belongs'), "
        "then run this command again; it takes more if any of them belongs to the class."
    )
