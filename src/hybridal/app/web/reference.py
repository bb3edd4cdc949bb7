"""The OpenAPI document as a page: operations by chapter, each with its fields, a curl command and a response."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from hybridal.app.people import ROLES
from hybridal.app.web.openapi import Json, operations

TYPE_NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
}


@dataclass(frozen=True)
class Parameter:
    """A field of a request, located in the `path`, the `query` or the `body`."""

    name: str
    location: str
    type: str
    required: bool
    description: str


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    role: str
    summary: str
    description: str
    parameters: list[Parameter]
    command: str
    response: str


def chapters(document: Json, address: str, multi_label: bool = False) -> dict[str, list[Operation]]:
    """All operations at this address, by chapter; with `multi_label`, examples have several classes per text."""
    found: dict[str, list[Operation]] = {}
    for path, method, one in operations(document):
        answer = one["responses"].get("200", {}).get("content", {}).get("application/json", {})
        made = Operation(
            method.upper(),
            path,
            one["x-role"],
            one["summary"],
            one["description"],
            [*_parameters(one, document)],
            curl_command(address, path, method.upper(), one, multi_label),
            json.dumps(answer["example"], ensure_ascii=False, indent=2) if "example" in answer else "",
        )
        found.setdefault(one["tags"][0], []).append(made)
    return found


def _parameters(operation: Json, document: Json) -> Iterator[Parameter]:
    for one in operation.get("parameters", []):
        required, description = one.get("required", False), one.get("description", "")
        yield Parameter(one["name"], one["in"], describe_type(one["schema"]), required, description)
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        body = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        for name, field in body.get("properties", {}).items():
            required = name in body.get("required", [])
            yield Parameter(name, "body", describe_type(field), required, field.get("description", ""))


def describe_type(schema: Json) -> str:
    """The type of a field in words.

    >>> describe_type({"anyOf": [{"type": "integer"}, {"type": "null"}]}), describe_type({"enum": ["label", "skip"]})
    ('whole number', 'label | skip')
    """
    if "anyOf" in schema:
        return " or ".join(describe_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "contentMediaType" in schema or schema.get("format") == "binary":
        return "file"
    return TYPE_NAMES.get(str(schema.get("type")), "object")


def for_several(example: Json) -> Json:
    """The example of a request, where a text may have several classes.

    >>> for_several({"text": "t17", "class": "bug"}), for_several({"labels": {"t17": "bug"}})
    ({'text': 't17', 'classes': ['bug']}, {'labels': {'t17': ['bug']}})
    """
    found = dict(example)
    if "text" in found and "class" in found:
        found["classes"] = [found.pop("class")]
    if "labels" in found:
        found["labels"] = {id: [name] for id, name in found["labels"].items()}
    return found


def curl_command(address: str, path: str, method: str, operation: Json, multi_label: bool = False) -> str:
    """A curl command that calls an operation.

    >>> print(curl_command("http://x", "/api/undo", "POST", {"x-role": "annotator", "requestBody": {"content": {
    ...     "application/json": {"example": {"key": "it's"}}}}}))
    curl -X POST -H "Authorization: Bearer $HYBRIDAL_TOKEN" \\
      -H "Content-Type: application/json" -d '{"key": "it'"'"'s"}' \\
      http://x/api/undo
    """
    parts = ["curl" if method == "GET" else f"curl -X {method}"]
    if operation["x-role"] in ROLES:
        parts[0] += ' -H "Authorization: Bearer $HYBRIDAL_TOKEN"'
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        example = content["application/json"]["example"]
        body = shlex.quote(json.dumps(for_several(example) if multi_label else example, ensure_ascii=False))
        parts.append(f'-H "Content-Type: application/json" -d {body}')
    elif content:
        parts.append("-F file=@texts.csv")
    return " \\\n  ".join([*parts, shlex.quote(address + path)])
