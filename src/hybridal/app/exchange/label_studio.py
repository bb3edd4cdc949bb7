"""Label Studio's JSON: labelling configurations, choices, predictions, and tasks of all its versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from hybridal.app.labelling.classes import LONGEST_NAME
from hybridal.app.labelling.texts import LONGEST_TEXT
from hybridal.errors import UserError
from hybridal.tasks.answers import Answer, Decisions, names_of
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


def choice_json(label: Answer, config: LabelConfig, comment: str = "", flagged: bool = False) -> Json:
    """A region with the choice of a class, or several; what Label Studio has no place for goes into its `meta`.

    >>> choice_json(frozenset(["b", "a"]), LabelConfig())["value"]
    {'choices': ['a', 'b']}
    >>> choice_json(Decisions.of({"a": False}), LabelConfig())["meta"]
    {'decisions': {'a': False}}
    """
    chosen = label.present if isinstance(label, Decisions) else names_of([label])
    region: Json = {
        "from_name": config.choices,
        "to_name": config.text,
        "type": "choices",
        "value": {"choices": sorted(chosen)},
    }
    meta: Json = ({"text": [comment]} if comment else {}) | ({"flagged": True} if flagged else {})
    meta |= {"decisions": label.by_class()} if isinstance(label, Decisions) else {}
    return {**region, "meta": meta} if meta else region


def prediction_json(label: Answer, probability: float, version: str, config: LabelConfig) -> Json:
    """A model's prediction for a task."""
    return {"model_version": version, "score": probability, "result": [choice_json(label, config)]}


UNKNOWN_ANNOTATOR = "Label Studio"


@dataclass(frozen=True)
class ImportedAnnotation:
    """One annotation of a task; `label` is None if the task was skipped."""

    id: str
    person: str
    label: Answer | None
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


def read_tasks(
    data: Any, field: str | None = None, choices: str | None = None, several: bool = False
) -> list[ImportedTask]:
    """Read the tasks of an export.

    Args:
        data: The parsed file.
        field: Names the text in a task's data.
        choices: Names the control with the class.
        several: Whether a text may have several classes.

    >>> choice = {"from_name": "kind", "value": {"choices": ["bug"]}}
    >>> read_tasks([{"id": 7, "data": {"text": "It crashes."}, "annotations": [{"id": 1, "result": [choice]}]}])[0].text
    'It crashes.'
    """
    tasks = data.get("tasks") if isinstance(data, dict) else data
    if not isinstance(tasks, list):
        raise UserError("The file is not a Label Studio export; export the tasks in the format JSON.")
    named = ((task, f"Task {_name(task, at)}") for at, task in enumerate(tasks, start=1))
    return [read_task(task, name, field, choices, several) for task, name in named]


def read_task(
    task: Any, name: str, field: str | None = None, choices: str | None = None, several: bool = False
) -> ImportedTask:
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
    found = [read_annotation(one, name, choices, several) for one in annotations]
    known = data.get("hybridal_id")
    id = as_text(known if isinstance(known, str) and known else task.get("id", ""))
    return ImportedTask(id[:200], as_text(text), tuple(one for one in found if one is not None))


def read_annotation(
    annotation: Any, name: str, choices: str | None = None, several: bool = False
) -> ImportedAnnotation | None:
    """Read one annotation; None if it has no class, for example because it was submitted empty.

    If a text may have several classes, an annotation that was submitted empty has none of them.
    """
    if not isinstance(annotation, dict):
        raise UserError(f"{name} has an annotation that is not an object.")
    skipped = bool(annotation.get("was_cancelled") or annotation.get("skipped"))
    regions = [] if skipped else _chosen(annotation, name, choices)
    picked = _picked(regions, name)
    label = None if skipped else _set_of(picked, regions, annotation, choices) if several else _class_of(picked, name)
    if label is None and not skipped:
        return None
    meta = _meta(regions[0] if regions else None)
    return ImportedAnnotation(
        id=as_text(annotation.get("id", ""))[:20],
        person=person_of(annotation.get("completed_by")),
        label=label,
        comment=_comment(meta),
        decides=bool(annotation.get("ground_truth")) and label is not None,
        updated=as_text(annotation.get("updated_at") or annotation.get("created_at") or ""),
        flagged=bool(meta.get("flagged")),
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


def _chosen(annotation: Json, name: str, choices: str | None) -> list[Json]:
    """The regions with choices, all of the same control."""
    result = annotation.get("result") or []
    if not isinstance(result, list):
        raise UserError(f"{name} has an annotation whose result is not a list.")
    found = [region for region in result if _is_choice(region)]
    if choices is not None:
        found = [region for region in found if region.get("from_name") == choices]
    controls = sorted({str(region.get("from_name")) for region in found})
    if len(controls) > 1:
        raise UserError(f"{name} has choices of {' and '.join(controls)}; name the control with the class.")
    return found


def _picked(regions: Sequence[Json], name: str) -> list[str]:
    """The distinct choices."""
    picked = [as_text(one).strip() for region in regions for one in region["value"]["choices"]]
    if not all(0 < len(one) <= LONGEST_NAME for one in picked):
        raise UserError(
            f"{name} has a choice that cannot be a class name; class names have 1 to {LONGEST_NAME} characters."
        )
    return sorted(set(picked))


def _class_of(picked: Sequence[str], name: str) -> str | None:
    if len(picked) > 1:
        raise UserError(f"{name} has {len(picked)} different choices; a text can have only one class.")
    return picked[0] if picked else None


def _set_of(picked: Sequence[str], regions: Sequence[Json], annotation: Json, choices: str | None) -> Answer | None:
    """All chosen classes, or the decisions that this app exported; None if the annotation is about something else."""
    if not regions and annotation.get("result") and choices is None:
        return None
    given = _meta(regions[0] if regions else None).get("decisions")
    if isinstance(given, dict) and given and all(isinstance(has, bool) for has in given.values()):
        decisions = Decisions.of({as_text(one).strip(): has for one, has in given.items()})
        if decisions.present == {*picked}:  # else the choices were changed in Label Studio
            return decisions
    return frozenset(picked)


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
