"""Reads tasks of Label Studio, in any of the forms in which it has written them over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybridal.app.exchange.label_studio import Json, words
from hybridal.app.labelling.classes import LONGEST
from hybridal.app.labelling.texts import LONGEST as LONGEST_TEXT
from hybridal.errors import UserError

ANYBODY = "Label Studio"


@dataclass(frozen=True)
class Annotation:
    """What somebody said of a task: a class, or None for a task that they skipped."""

    id: str
    person: str
    class_name: str | None
    comment: str = ""
    decides: bool = False
    updated: str = ""
    flagged: bool = False


@dataclass(frozen=True)
class Task:
    """A text with its answers; `id` is ours if the task came from here, else that of Label Studio."""

    id: str
    text: str
    annotations: tuple[Annotation, ...] = ()


def read_tasks(data: Any, field: str | None = None, choices: str | None = None) -> list[Task]:
    """The tasks of an export. `field` names the text in a task's data, `choices` the control that gives the class.

    >>> choice = {"from_name": "kind", "value": {"choices": ["bug"]}}
    >>> read_tasks([{"id": 7, "data": {"text": "It crashes."}, "annotations": [{"id": 1, "result": [choice]}]}])[0].text
    'It crashes.'
    """
    tasks = data.get("tasks") if isinstance(data, dict) else data
    if not isinstance(tasks, list):
        raise UserError("This is not an export of Label Studio: it should be a list of tasks, in its format JSON.")
    return [read_task(task, f"Task {_name(task, at)}", field, choices) for at, task in enumerate(tasks, start=1)]


def read_task(task: Any, name: str, field: str | None = None, choices: str | None = None) -> Task:
    """One task; `name` is what an error calls it."""
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict):
        raise UserError(f"{name} has no data; export from Label Studio in the format JSON, not JSON-MIN.")
    text = data.get(_field(data, name, field))
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{name} has no text in its field '{_field(data, name, field)}'.")
    if len(text) > LONGEST_TEXT:
        raise UserError(f"{name} has a text of {len(text)} characters, and {LONGEST_TEXT} are the most; shorten it.")
    given = task.get("annotations") or task.get("completions") or []
    if not isinstance(given, list):
        raise UserError(f"{name} has annotations that are not a list.")
    found = [read_annotation(one, name, choices) for one in given]
    known = data.get("hybridal_id")
    id = words(known if isinstance(known, str) and known else task.get("id", ""))
    return Task(id[:200], words(text), tuple(one for one in found if one is not None))


def read_annotation(annotation: Any, name: str, choices: str | None = None) -> Annotation | None:
    """One annotation; None if it says nothing of a class, as one that was submitted empty."""
    if not isinstance(annotation, dict):
        raise UserError(f"{name} has an annotation that is not an object.")
    skipped = bool(annotation.get("was_cancelled") or annotation.get("skipped"))
    region = None if skipped else _chosen(annotation, name, choices)
    if region is None and not skipped:
        return None
    said: list[str] = [] if region is None else region["value"]["choices"]
    return Annotation(
        id=words(annotation.get("id", ""))[:20],
        person=person_of(annotation.get("completed_by")),
        class_name=words(said[0]).strip() if said else None,
        comment=_comment(_meta(region)),
        decides=bool(annotation.get("ground_truth")) and bool(said),
        updated=words(annotation.get("updated_at") or annotation.get("created_at") or ""),
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
        return words(named) if named else person_of(completed_by.get("id"))
    return ANYBODY if completed_by is None or completed_by == "" else f"{ANYBODY} {words(completed_by)}"


def _field(data: Json, name: str, field: str | None) -> str:
    if field is not None:
        return field
    if "text" in data:
        return "text"
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if len(texts) != 1:
        raise UserError(
            f"{name} has no field 'text'; say which of its fields is the text: {', '.join(map(str, data))}."
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
    if picked and not 0 < len(picked[0].strip()) <= LONGEST:
        raise UserError(f"{name} has a choice that cannot be the name of a class: it needs 1 to {LONGEST} characters.")
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
    return "\n".join(map(words, said)) if isinstance(said, list) else words(said)


def _name(task: Any, at: int) -> str:
    return str(task.get("id", at))[:40] if isinstance(task, dict) else str(at)
