"""Options that several commands share."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from hybridal.core.rules import Rules
from hybridal.errors import UserError, reason
from hybridal.runs.settings import Settings

_TASK = "Task"
_METHOD = "Method"
_OUTPUT = "Output"
SERVER = "Server"
MODEL_LABELS = "Labels by a model"
ENCODER_SECONDS = 300.0  # until an encoder has read two texts

TaskName = Annotated[
    str | None,
    typer.Argument(help="A task by name (see `hybridal list tasks`) or a file with texts (CSV, XLSX, JSON, …)."),
]
Config = Annotated[
    Path | None, typer.Option(help="YAML file with settings; options on the command line override them.")
]
Text = Annotated[str | None, typer.Option(help="Column with the texts.", rich_help_panel=_TASK)]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label", help="Column with the labels; repeat it for a column of 0 and 1 per class.", rich_help_panel=_TASK
    ),
]
MultiLabel = Annotated[
    bool,
    typer.Option(
        "--multi-label",
        help="A text may have several labels or none (default: if they are lists).",
        rich_help_panel=_TASK,
    ),
]
LabelSeparator = Annotated[
    str | None, typer.Option(help="What stands between several labels of a text, such as ';'.", rich_help_panel=_TASK)
]
Descriptions = Annotated[
    str | None,
    typer.Option(
        help="File with descriptions of classes: JSON, YAML or CSV (class,description).", rich_help_panel=_TASK
    ),
]
Id = Annotated[str | None, typer.Option(help="Column with the ids (default: row numbers).", rich_help_panel=_TASK)]
Validation = Annotated[str | None, typer.Option(help="File with the validation split.", rich_help_panel=_TASK)]
Test = Annotated[str | None, typer.Option(help="File with the test split.", rich_help_panel=_TASK)]
ValidationSize = Annotated[
    float | None, typer.Option(help="Number of validation texts, or a share below 1.", rich_help_panel=_TASK)
]
TestSize = Annotated[
    float | None, typer.Option(help="Number of test texts, or a share below 1.", rich_help_panel=_TASK)
]
Classes = Annotated[str | None, typer.Option(help="Keep only these classes: a,b,c.", rich_help_panel=_TASK)]
MaxWords = Annotated[int | None, typer.Option(help="Skip longer texts.", rich_help_panel=_TASK)]
DropEmpty = Annotated[bool, typer.Option("--drop-empty", help="Skip rows without text.", rich_help_panel=_TASK)]
DropDuplicates = Annotated[
    bool, typer.Option("--drop-duplicates", help="Keep only the first of identical texts.", rich_help_panel=_TASK)
]
Labels = Annotated[
    str | None,
    typer.Option(help="CSV file (id,label) in which you enter the labels; it is watched.", rich_help_panel=_TASK),
]
AnnotatorSpec = Annotated[
    str | None,
    typer.Option("--annotator", help="A model that labels: llm, or a class of your own.", rich_help_panel=MODEL_LABELS),
]
LlmUrl = Annotated[
    str | None,
    typer.Option(help="Address of its server up to /v1 (default: HYBRIDAL_LLM_URL).", rich_help_panel=MODEL_LABELS),
]
LlmModel = Annotated[str | None, typer.Option(help="Its name on the server.", rich_help_panel=MODEL_LABELS)]
LlmGuidelines = Annotated[
    Path | None, typer.Option(help="Text file with the guidelines for people.", rich_help_panel=MODEL_LABELS)
]
LlmBudgetTokens = Annotated[
    int | None, typer.Option(help="Tokens it may use in all (default: 500000).", rich_help_panel=MODEL_LABELS)
]
LlmBudgetMoney = Annotated[
    float | None, typer.Option(help="What it may cost in all; needs --llm-price.", rich_help_panel=MODEL_LABELS)
]
LlmPrice = Annotated[float | None, typer.Option(help="Price of a million tokens.", rich_help_panel=MODEL_LABELS)]
LabelPrice = Annotated[
    float | None,
    typer.Option(
        help="What a label by people costs; with --llm-price, the run ends with what more labels cost and bring.",
        rich_help_panel=MODEL_LABELS,
    ),
]
Overlap = Annotated[
    float | None,
    typer.Option(help="Share of its texts that people label too (default: 0.1).", rich_help_panel=MODEL_LABELS),
]
BackboneName = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        help="auto[:A,B] (default): the labels choose; minilm (fast), gte-small, ..., a folder or hub id.",
        rich_help_panel=_METHOD,
    ),
]
Host = Annotated[
    str, typer.Option(help="Address to listen on; others than localhost need passwords.", rich_help_panel=SERVER)
]
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.", rich_help_panel=SERVER)
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.", rich_help_panel=SERVER)]
Db = Annotated[
    str | None, typer.Option(help="postgresql+psycopg://user@host/name (default: SQLite).", rich_help_panel=SERVER)
]
BehindProxy = Annotated[
    bool, typer.Option("--behind-proxy", help="Trust the headers of a reverse proxy.", rich_help_panel=SERVER)
]
SignInHeader = Annotated[
    str | None, typer.Option(help="Header with the name that the proxy has authenticated.", rich_help_panel=SERVER)
]
Owner = Annotated[str | None, typer.Option(help="Your name in that header.", rich_help_panel=SERVER)]
ProtocolName = Annotated[
    str | None, typer.Option("--protocol", help="best (default), paper, reference or quick.", rich_help_panel=_METHOD)
]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds.", rich_help_panel=_METHOD)]
Initial = Annotated[int | None, typer.Option(help="Labels to start with.", rich_help_panel=_METHOD)]
Batch = Annotated[int | None, typer.Option(help="Labels per round.", rich_help_panel=_METHOD)]
TrainLayers = Annotated[
    int | None,
    typer.Option(
        help="Train only this many top layers (faster); try --set learning_rate=1e-4 with it.", rich_help_panel=_METHOD
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Override any field of the protocol.", rich_help_panel=_METHOD),
]
ScheduleSpec = Annotated[
    str | None,
    typer.Option(
        "--schedule",
        help="auto (default), retrain, finetune, refit, newonly, anchor:0.6, replay:96, fixed:K or hybrid:SIGNAL.",
        rich_help_panel=_METHOD,
    ),
]
Epsilon = Annotated[float | None, typer.Option(help="Threshold ε of the hybrid schedule.", rich_help_panel=_METHOD)]
Patience = Annotated[int | None, typer.Option(help="Patience k of the hybrid schedule.", rich_help_panel=_METHOD)]
AcquisitionSpec = Annotated[
    str | None,
    typer.Option(
        "--acquisition",
        help="margin (default under best), entropy (under the others), random, least-confidence, badge, coreset, "
        "bald, cal or typiclust.",
        rich_help_panel=_METHOD,
    ),
]
Signals = Annotated[
    str | None, typer.Option(help="Additional signals to record: alpha,cka,...", rich_help_panel=_METHOD)
]
Calibrate = Annotated[
    bool,
    typer.Option("--calibrate", help="Rank candidates by temperature-scaled probabilities.", rich_help_panel=_METHOD),
]
Seed = Annotated[int | None, typer.Option(help="Random seed.", rich_help_panel=_METHOD)]
DeviceName = Annotated[
    str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.", rich_help_panel=_METHOD)
]
TestEveryRound = Annotated[
    bool, typer.Option("--test-every-round", help="Evaluate on the test texts in each round.", rich_help_panel=_METHOD)
]
Stop = Annotated[
    str | None,
    typer.Option(help="auto: stop when more labels would hardly help; never (default).", rich_help_panel=_METHOD),
]
TrackerSpec = Annotated[
    str | None,
    typer.Option(
        "--tracker",
        help="Also log metrics to mlflow[:EXPERIMENT] or tensorboard[:FOLDER].",
        rich_help_panel=_OUTPUT,
    ),
]
Out = Annotated[Path | None, typer.Option(help="Folder of the run (default: runs/…).", rich_help_panel=_OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON.", rich_help_panel=_OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only errors.", rich_help_panel=_OUTPUT)]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check settings and data, print the plan, exit.", rich_help_panel=_OUTPUT)
]


# The options of a run, in the order of its help.
RUN: Mapping[str, Any] = {
    "task": TaskName,
    "config": Config,
    "text": Text,
    "label": Label,
    "id": Id,
    "validation": Validation,
    "test": Test,
    "validation_size": ValidationSize,
    "test_size": TestSize,
    "classes": Classes,
    "max_words": MaxWords,
    "drop_empty": DropEmpty,
    "drop_duplicates": DropDuplicates,
    "multi_label": MultiLabel,
    "label_separator": LabelSeparator,
    "descriptions": Descriptions,
    "labels": Labels,
    "annotator": AnnotatorSpec,
    "llm_url": LlmUrl,
    "llm_model": LlmModel,
    "llm_guidelines": LlmGuidelines,
    "llm_budget_tokens": LlmBudgetTokens,
    "llm_budget_money": LlmBudgetMoney,
    "llm_price": LlmPrice,
    "overlap": Overlap,
    "label_price": LabelPrice,
    "backbone": BackboneName,
    "protocol": ProtocolName,
    "rounds": Rounds,
    "initial": Initial,
    "batch": Batch,
    "train_layers": TrainLayers,
    "set": Set,
    "schedule": ScheduleSpec,
    "epsilon": Epsilon,
    "patience": Patience,
    "acquisition": AcquisitionSpec,
    "signals": Signals,
    "calibrate": Calibrate,
    "seed": Seed,
    "device": DeviceName,
    "test_every_round": TestEveryRound,
    "stop": Stop,
    "tracker": TrackerSpec,
}
OF_MODEL = ("annotator", *(name for name in RUN if name.startswith("llm_")), "overlap", "label_price")
_SETTINGS = [name for name in RUN if name in {field.name for field in fields(Settings)}]
_PROTOCOL = [name for name in RUN if name in {field.name for field in fields(Rules)} and name not in _SETTINGS]


@dataclass(frozen=True)
class RunOptions:
    """Parsed options of a run: settings, the file that they override, and ε and k of a hybrid schedule."""

    settings: dict[str, Any]
    config: Path | None = None
    epsilon: float | None = None
    patience: int | None = None


def with_run_options(without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command with the options of a run, except those in `without`; it gets them as a `RunOptions`."""
    return with_options({name: kind for name, kind in RUN.items() if name not in without}, _run_options)


def with_options(
    options: Mapping[str, Any], parse: Callable[[Mapping[str, Any]], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command with shared options; `parse` turns their values into the command's first argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**values: Any) -> None:
            command(parse({name: values.pop(name) for name in options}), **values)

        signature = inspect.signature(command, eval_str=True)
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(kind), annotation=kind)
            for name, kind in options.items()
        ]
        own = [one.replace(kind=one.KEYWORD_ONLY) for one in list(signature.parameters.values())[1:]]
        call.__signature__ = signature.replace(parameters=[*shared, *own])  # type: ignore[attr-defined]
        return call

    return decorate


def _default(kind: Any) -> Any:
    return False if get_args(kind)[0] is bool else None


def _run_options(values: Mapping[str, Any]) -> RunOptions:
    lists: dict[str, Any] = {name: names(values[name]) for name in ("classes", "signals")}
    lists["label"] = label_columns(values.get("label"))
    settings = given(**{name: value for name, value in {**values, **lists}.items() if name in _SETTINGS})
    fields_set = overrides(values["set"], **{name: values[name] for name in _PROTOCOL})
    if llm := given(**{name.removeprefix("llm_"): values.get(name) for name in RUN if name.startswith("llm_")}):
        settings["llm"] = {**llm, **({"guidelines": _content(llm["guidelines"])} if "guidelines" in llm else {})}
    others = {name: values.get(name) for name in ("config", "epsilon", "patience")}
    return RunOptions({**settings, "overrides": fields_set}, **others)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UserError(f"{path} cannot be read as UTF-8 text ({reason(error)}).", field="llm_guidelines") from error


def check_backbone(backbone: str | None) -> None:
    """Refuse a backbone that does not exist, or a folder that cannot classify texts, before the app starts with it."""
    from hybridal.backbones import candidate_names, check_exists
    from hybridal.system.child_check import require_success

    for name in candidate_names(backbone) if backbone is not None else ():
        check_exists(name)
        if (folder := Path(name).expanduser()).is_dir():  # in another process: that of the pages loads no torch
            require_success([sys.executable, "-m", "hybridal.models.encoder_check", str(folder)], ENCODER_SECONDS)


def given(**options: Any) -> dict[str, Any]:
    """Return the options that the user gave."""
    # Not `in (None, False)`: 0 equals False, and a seed of 0 is a seed.
    return {name: value for name, value in options.items() if value is not None and value is not False}


def label_columns(columns: Sequence[str] | None) -> str | tuple[str, ...] | None:
    """Return the column of labels, or several indicator columns.

    >>> label_columns(["kind"]), label_columns(["sport", "food"]), label_columns(None)
    ('kind', ('sport', 'food'), None)
    """
    return (columns[0] if len(columns) == 1 else tuple(columns)) if columns else None


def names(text: str | None) -> tuple[str, ...] | None:
    """Split a,b,c.

    >>> names("a, b"), names(None)
    (('a', 'b'), None)
    """
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def overrides(pairs: Sequence[str] | None, **options: Any) -> Mapping[str, Any]:
    """Return fields of the protocol, from FIELD=VALUE pairs (values as in YAML) and from their own options.

    >>> overrides(["learning_rate=1e-4", "stop_after=null"], rounds=3)
    {'learning_rate': 0.0001, 'stop_after': None, 'rounds': 3}
    """
    import yaml

    found: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set takes FIELD=VALUE, not '{pair}'.")
        try:
            found[name.strip().replace("-", "_")] = _number(yaml.safe_load(value))
        except yaml.YAMLError as error:
            raise UserError(f"--set {pair}: the value is not valid YAML; write a number, a word or null.") from error
    return found | given(**options)


def _number(value: Any) -> Any:
    """Convert 1e-4, which YAML 1.1 reads as text because it has no dot."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
