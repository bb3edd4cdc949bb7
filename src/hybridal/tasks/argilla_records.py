"""Records of Argilla 2 as rows: its fields, its metadata, and the answer to each of its questions are columns."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def is_record(item: Json) -> bool:
    """Return whether an object of a JSON file is a record, as `dataset.records.to_json` writes it.

    Example:
        >>> is_record({"fields": {"text": "Hello"}, "responses": {}}), is_record({"text": "Hello", "responses": 3})
        (True, False)
    """
    return isinstance(item.get("fields"), dict) and isinstance(item.get("responses"), dict)


def record_row(record: Json) -> Json:
    """Return the columns of a record.

    People may answer a question differently; it has no answer then. Argilla does not write which answers are drafts.

    Example:
        >>> responses = {"topics": [{"value": ["food", "fun"], "user_id": "1"}]}
        >>> record_row({"id": "7", "fields": {"text": "Hello"}, "responses": responses})
        {'id': '7', 'topics': ['food', 'fun'], 'text': 'Hello'}
    """
    metadata = record.get("metadata")
    others = metadata if isinstance(metadata, dict) else {}
    answers = {question: _answer(given) for question, given in record["responses"].items()}
    return {**({"id": record["id"]} if "id" in record else {}), **others, **answers, **record["fields"]}


def _answer(responses: Any) -> Any:
    """The value on which all responses agree, or None; the order of several classes does not matter."""
    found: dict[str, Any] = {}
    for response in responses if isinstance(responses, list) else []:
        if isinstance(response, dict) and "value" in response:
            value = response["value"]
            found[repr(sorted(value, key=repr) if isinstance(value, list) else value)] = value
    return next(iter(found.values())) if len(found) == 1 else None
