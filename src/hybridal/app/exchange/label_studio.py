"""Label Studio's JSON: its labelling configuration, choices and predictions, and tasks in any form it has written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from hybridal.app.labelling.classes import LONGEST_NAME
from hybridal.app.labelling.texts import LONGEST_TEXT
from hybridal.errors import UserError
from hybridal.tasks.table import list_names

Json = dict[str, Any]

_LARGEST = 200_000


@dataclass(frozen=True)
class LabelConfig:
    """How a Label Studio project names things: the choices, the text they are about, and its field in a task's data."""

    choices: str = "label"
    text: str = "text"
    field: str = "text"


def read_config(xml: Any) -> LabelConfig | None:
    """The names in a labelling configuration; None if it has no choices about a text.

    >>> read_config('<View><Text name="t" value="$body"/><Choices name="c" toName="t"></Choices></View>')
    LabelConfig(choices='c', text='t', field='body')
    >>> read_config("<View/>") is None
    True
    """
    # A configuration has no use for entities, and a parser no end of trouble with them.
    if not isinstance(xml, str) or len(xml) > _LARGEST or "<!DOCTYPE" in xml:
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
    """Any value as text that a database takes: JSON allows halves of characters, UTF-8 does not.

    >>> as_text("a\\ud800"), as_text(7)
    ('a?', '7')
    """
    return str(value).encode(errors="replace").decode()


def choice_json(class_name: str, config: LabelConfig, comment: str = "", flagged: bool = False) -> Json:
    """A region that chooses a class; what else was said of the text is its `meta`."""
    region: Json = {
        "from_name": config.choices,
        "to_name": config.text,
        "type": "choices",
        "value": {"choices": [class_name]},
    }
    meta: Json = ({"text": [comment]} if comment else {}) | ({"flagged": True} if flagged else {})
    return {**region, "meta": meta} if meta else region


def prediction_json(class_name: str, probability: float, version: str, config: LabelConfig) -> Json:
    """What a model thinks of a task."""
    return {"model_version": version, "score": probability, "result": [choice_json(class_name, config)]}


ANYBODY = "Label Studio"


@dataclass(frozen=True)
class ImportedAnnotation:
    """What somebody said of a task: a class, or None for a task that they skipped."""

    id: str
    person: str
    class_name: str | None
    comment: str = ""
    decides: bool = False
    updated: str = ""
    flagged: bool = False


@dataclass(frozen=True)
class ImportedTask:
    """A text with its answers; `id` is ours if the task came from here, else that of Label Studio."""

    id: str
    text: str
    annotations: tuple[ImportedAnnotation, ...] = ()


def read_tasks(data: Any, field: str | None = None, choices: str | None = None) -> list[ImportedTask]:
    """The tasks of an export. `field` names the text in a task's data, `choices` the control that gives the class.

    >>> choice = {"from_name": "kind", "value": {"choices": ["bug"]}}
    >>> read_tasks([{"id": 7, "data": {"text": "It crashes."}, "annotations": [{"id": 1, "result": [choice]}]}])[0].text
    'It crashes.'
    """
    tasks = data.get("tasks") if isinstance(data, dict) else data
    if not isinstance(tasks, list):
        raise UserError("This is not an export of Label Studio: it should be a list of tasks, in its format JSON.")
    return [read_task(task, f"Task {_name(task, at)}", field, choices) for at, task in enumerate(tasks, start=1)]


def read_task(task: Any, name: str, field: str | None = None, choices: str | None = None) -> ImportedTask:
    """One task; `name` is what an error calls it."""
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise UserError(f"{name} has no data; export from Label Studio in the format JSON, not JSON-MIN.")
    text = data.get(_field(data, name, field))
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{name} has no text in its field '{_field(data, name, field)}'.")
    if len(text) > LONGEST_TEXT:
        raise UserError(f"{name} has a text of {len(text)} characters; the limit is {LONGEST_TEXT}. Shorten it.")
    given = task.get("annotations") or task.get("completions") or []
    if not isinstance(given, list):
        raise UserError(f"{name} has annotations that are not a list.")
    found = [read_annotation(one, name, choices) for one in given]
    known = data.get("hybridal_id")
    id = as_text(known if isinstance(known, str) and known else task.get("id", ""))
    return ImportedTask(id[:200], as_text(text), tuple(one for one in found if one is not None))


def read_annotation(annotation: Any, name: str, choices: str | None = None) -> ImportedAnnotation | None:
    """One annotation; None if it says nothing of a class, as one that was submitted empty."""
    if not isinstance(annotation, dict):
        raise UserError(f"{name} has an annotation that is not an object.")
    skipped = bool(annotation.get("was_cancelled") or annotation.get("skipped"))
    region = None if skipped else _chosen(annotation, name, choices)
    if region is None and not skipped:
        return None
    said: list[str] = [] if region is None else region["value"]["choices"]
    return ImportedAnnotation(
        id=as_text(annotation.get("id", ""))[:20],
        person=person_of(annotation.get("completed_by")),
        class_name=as_text(said[0]).strip() if said else None,
        comment=_comment(_meta(region)),
        decides=bool(annotation.get("ground_truth")) and bool(said),
        updated=as_text(annotation.get("updated_at") or annotation.get("created_at") or ""),
        flagged=bool(_meta(region).get("flagged")),
    )


def person_of(completed_by: Any) -> str:
    """A name for whoever annotated: their address, their name, or their number.

    >>> person_of({"id": 3, "email": "ann@example.org"}), person_of(3), person_of(None)
    ('ann@example.org', 'Label Studio 3', 'Label Studio')
    """
    if isinstance(completed_by, dict):
        whole = f"{completed_by.get('first_name') or ''} {completed_by.get('last_name') or ''}".strip()
        named = completed_by.get("email") or completed_by.get("username") or whole
        return as_text(named) if named else person_of(completed_by.get("id"))
    return ANYBODY if completed_by is None or completed_by == "" else f"{ANYBODY} {as_text(completed_by)}"


def _field(data: Json, name: str, field: str | None) -> str:
    if field is not None:
        return field
    if "text" in data:
        return "text"
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if len(texts) != 1:
        raise UserError(
            f"{name} has no field 'text'; say which of its fields is the text: {list_names([*map(as_text, data)])}."
        )
    return texts[0]


def _chosen(annotation: Json, name: str, choices: str | None) -> Json | None:
    """The region with the choice, of which there may be only one."""
    result = annotation.get("result") or []
    if not isinstance(result, list):
        raise UserError(f"{name} has an annotation whose result is not a list.")
    found = [region for region in result if _is_choice(region)]
    if choices is not None:
        found = [region for region in found if region.get("from_name") == choices]
    controls = sorted({str(region.get("from_name")) for region in found})
    if len(controls) > 1:
        raise UserError(f"{name} has choices of {' and '.join(controls)}; say which of them is the class.")
    picked = [one for region in found for one in region["value"]["choices"]]
    if len(set(picked)) > 1:
        raise UserError(f"{name} has {len(set(picked))} choices at once, and a text has one class here.")
    if picked and not 0 < len(picked[0].strip()) <= LONGEST_NAME:
        raise UserError(
            f"{name} has a choice that cannot be the name of a class: it needs 1 to {LONGEST_NAME} characters."
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
    said = meta.get("text") or ""
    return "\n".join(map(as_text, said)) if isinstance(said, list) else as_text(said)


def _name(task: Any, at: int) -> str:
    return str(task.get("id", at))[:40] if isinstance(task, dict) else str(at)
