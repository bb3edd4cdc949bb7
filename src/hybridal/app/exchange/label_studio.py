"""Label Studio's JSON: labelling configurations, choices, predictions, and tasks of all its versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from hybridal.app.labelling.classes import LONGEST_NAME
from hybridal.app.labelling.texts import LONGEST_TEXT
from hybridal.errors import UserError
from hybridal.tasks.table import list_names

Json = dict[str, Any]

_LONGEST_CONFIG = 200_000  # characters


@dataclass(frozen=True)
class LabelConfig:
    """The names in a labelling configuration.

    Attributes:
        choices: The Choices control.
        text: The Text element that it refers to.
        field: The field of the text in a task's data.
    """

    choices: str = "label"
    text: str = "text"
    field: str = "text"


def read_config(xml: Any) -> LabelConfig | None:
    """Read the names in a labelling configuration; None if it has no Choices for a Text.

    >>> read_config('<View><Text name="t" value="$body"/><Choices name="c" toName="t"></Choices></View>')
    LabelConfig(choices='c', text='t', field='body')
    >>> read_config("<View/>") is None
    True
    """
    # Refuse entities, which can expand to any size; configurations do not need them.
    if not isinstance(xml, str) or len(xml) > _LONGEST_CONFIG or "<!DOCTYPE" in xml:
        return None
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError:
        return None
    texts = {tag.get("name"): tag.get("value", "") for tag in root.iter("Text")}
    for tag in root.iter("Choices"):
        name, about = tag.get("name"), tag.get("toName")
        if name and about and texts.get(about, "").startswith("$"):
            return LabelConfig(name, about, texts[about][1:])
    return None


def as_text(value: Any) -> str:
    """Any value as valid text: lone surrogates, which JSON allows and UTF-8 does not, are replaced.

    >>> as_text("a\\ud800"), as_text(7)
    ('a?', '7')
    """
    return str(value).encode(errors="replace").decode()


def choice_json(class_name: str, config: LabelConfig, comment: str = "", flagged: bool = False) -> Json:
    """A region with the choice of a class; comment and flag go into its `meta`."""
    region: Json = {
        "from_name": config.choices,
        "to_name": config.text,
        "type": "choices",
        "value": {"choices": [class_name]},
    }
    meta: Json = ({"text": [comment]} if comment else {}) | ({"flagged": True} if flagged else {})
    return {**region, "meta": meta} if meta else region


def prediction_json(class_name: str, probability: float, version: str, config: LabelConfig) -> Json:
    """A model's prediction for a task."""
    return {"model_version": version, "score": probability, "result": [choice_json(class_name, config)]}


UNKNOWN_ANNOTATOR = "Label Studio"


@dataclass(frozen=True)
class ImportedAnnotation:
    """One annotation of a task; `class_name` is None if the task was skipped."""

    id: str
    person: str
    class_name: str | None
    comment: str = ""
    decides: bool = False
    updated: str = ""
    flagged: bool = False


@dataclass(frozen=True)
class ImportedTask:
    """A text with its annotations; `id` is the text's id if the task was exported by this app, else the task's."""

    id: str
    text: str
    annotations: tuple[ImportedAnnotation, ...] = ()


def read_tasks(data: Any, field: str | None = None, choices: str | None = None) -> list[ImportedTask]:
    """Read the tasks of an export. `field` names the text in a task's data, `choices` the control with the class.

    >>> choice = {"from_name": "kind", "value": {"choices": ["bug"]}}
    >>> read_tasks([{"id": 7, "data": {"text": "It crashes."}, "annotations": [{"id": 1, "result": [choice]}]}])[0].text
    'It crashes.'
    """
    tasks = data.get("tasks") if isinstance(data, dict) else data
    if not isinstance(tasks, list):
        raise UserError("The file is not a Label Studio export; export the tasks in the format JSON.")
    return [read_task(task, f"Task {_name(task, at)}", field, choices) for at, task in enumerate(tasks, start=1)]


def read_task(task: Any, name: str, field: str | None = None, choices: str | None = None) -> ImportedTask:
    """Read one task; `name` is used in errors."""
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise UserError(f"{name} has no data; export from Label Studio in the format JSON, not JSON-MIN.")
    text = data.get(_field(data, name, field))
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{name} has no text in its field '{_field(data, name, field)}'.")
    if len(text) > LONGEST_TEXT:
        raise UserError(f"{name} has a text of {len(text)} characters; the limit is {LONGEST_TEXT}. Shorten it.")
    annotations = task.get("annotations") or task.get("completions") or []
    if not isinstance(annotations, list):
        raise UserError(f"{name} has annotations that are not a list.")
    found = [read_annotation(one, name, choices) for one in annotations]
    known = data.get("hybridal_id")
    id = as_text(known if isinstance(known, str) and known else task.get("id", ""))
    return ImportedTask(id[:200], as_text(text), tuple(one for one in found if one is not None))


def read_annotation(annotation: Any, name: str, choices: str | None = None) -> ImportedAnnotation | None:
    """Read one annotation; None if it has no class, for example because it was submitted empty."""
    if not isinstance(annotation, dict):
        raise UserError(f"{name} has an annotation that is not an object.")
    skipped = bool(annotation.get("was_cancelled") or annotation.get("skipped"))
    region = None if skipped else _chosen(annotation, name, choices)
    if region is None and not skipped:
        return None
    chosen: list[str] = [] if region is None else region["value"]["choices"]
    return ImportedAnnotation(
        id=as_text(annotation.get("id", ""))[:20],
        person=person_of(annotation.get("completed_by")),
        class_name=as_text(chosen[0]).strip() if chosen else None,
        comment=_comment(_meta(region)),
        decides=bool(annotation.get("ground_truth")) and bool(chosen),
        updated=as_text(annotation.get("updated_at") or annotation.get("created_at") or ""),
        flagged=bool(_meta(region).get("flagged")),
    )


def person_of(completed_by: Any) -> str:
    """The annotator's name: their e-mail address, user name, full name or number.

    >>> person_of({"id": 3, "email": "ann@example.org"}), person_of(3), person_of(None)
    ('ann@example.org', 'Label Studio 3', 'Label Studio')
    """
    if isinstance(completed_by, dict):
        full_name = f"{completed_by.get('first_name') or ''} {completed_by.get('last_name') or ''}".strip()
        name = completed_by.get("email") or completed_by.get("username") or full_name
        return as_text(name) if name else person_of(completed_by.get("id"))
    if completed_by is None or completed_by == "":
        return UNKNOWN_ANNOTATOR
    return f"{UNKNOWN_ANNOTATOR} {as_text(completed_by)}"


def _field(data: Json, name: str, field: str | None) -> str:
    if field is not None:
        return field
    if "text" in data:
        return "text"
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if len(texts) != 1:
        raise UserError(
            f"{name} has no field 'text'; choose the field with the text: {list_names([*map(as_text, data)])}."
        )
    return texts[0]


def _chosen(annotation: Json, name: str, choices: str | None) -> Json | None:
    """The region with the choice, or None; more than one choice is an error."""
    result = annotation.get("result") or []
    if not isinstance(result, list):
        raise UserError(f"{name} has an annotation whose result is not a list.")
    found = [region for region in result if _is_choice(region)]
    if choices is not None:
        found = [region for region in found if region.get("from_name") == choices]
    controls = sorted({str(region.get("from_name")) for region in found})
    if len(controls) > 1:
        raise UserError(f"{name} has choices of {' and '.join(controls)}; name the control with the class.")
    picked = [one for region in found for one in region["value"]["choices"]]
    if len(set(picked)) > 1:
        raise UserError(f"{name} has {len(set(picked))} different choices; a text can have only one class.")
    if picked and not 0 < len(picked[0].strip()) <= LONGEST_NAME:
        raise UserError(
            f"{name} has a choice that cannot be a class name; class names have 1 to {LONGEST_NAME} characters."
        )
    return found[0] if picked else None


def _is_choice(region: Any) -> bool:
    value = region.get("value") if isinstance(region, dict) else None
    picked = value.get("choices") if isinstance(value, dict) else None
    return isinstance(picked, list) and all(isinstance(one, str) for one in picked)


def _meta(region: Json | None) -> Json:
    meta = region.get("meta") if region else None
    return meta if isinstance(meta, dict) else {}


def _comment(meta: Json) -> str:
    comment = meta.get("text") or ""
    return "\n".join(map(as_text, comment)) if isinstance(comment, list) else as_text(comment)


def _name(task: Any, at: int) -> str:
    return str(task.get("id", at))[:40] if isinstance(task, dict) else str(at)
