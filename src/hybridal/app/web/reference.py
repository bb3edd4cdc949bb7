"""The OpenAPI document as people read it: chapters of operations, each with its fields and a command to try."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from hybridal.app.people import ROLES
from hybridal.app.web.openapi import Json, operations

KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list"}


@dataclass(frozen=True)
class Given:
    """Something that is sent: in the `path`, the `query` or the `body`."""

    name: str
    place: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True)
class Operation:
    """One thing that a program can do."""

    method: str
    path: str
    role: str
    summary: str
    about: str
    given: list[Given]
    command: str
    answer: str


def chapters(document: Json, address: str) -> dict[str, list[Operation]]:
    """Everything that can be done at this address, by its chapter."""
    found: dict[str, list[Operation]] = {}
    for path, method, one in operations(document):
        answer = one["responses"].get("200", {}).get("content", {}).get("application/json", {})
        made = Operation(
            method.upper(),
            path,
            one["x-role"],
            one["summary"],
            one["description"],
            [*_given(one, document)],
            command(address, path, method.upper(), one),
            json.dumps(answer["example"], ensure_ascii=False, indent=2) if "example" in answer else "",
        )
        found.setdefault(one["tags"][0], []).append(made)
    return found


def _given(operation: Json, document: Json) -> Iterator[Given]:
    for one in operation.get("parameters", []):
        yield Given(one["name"], one["in"], kind(one["schema"]), one.get("required", False), one.get("description", ""))
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        body = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        for name, field in body.get("properties", {}).items():
            required = name in body.get("required", [])
            yield Given(name, "body", kind(field), required, field.get("description", ""))


def kind(schema: Json) -> str:
    """What may be sent there, in words.

    >>> kind({"anyOf": [{"type": "integer"}, {"type": "null"}]}), kind({"enum": ["label", "skip"]})
    ('whole number', 'label | skip')
    """
    if "anyOf" in schema:
        return " or ".join(kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "contentMediaType" in schema or schema.get("format") == "binary":
        return "file"
    return KINDS.get(str(schema.get("type")), "object")


def command(address: str, path: str, method: str, operation: Json) -> str:
    """How to try it from a shell.

    >>> print(command("http://x", "/api/undo", "POST", {"x-role": "annotator", "requestBody": {"content": {
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
        body = shlex.quote(json.dumps(content["application/json"]["example"], ensure_ascii=False))
        parts.append(f'-H "Content-Type: application/json" -d {body}')
    elif content:
        parts.append("-F file=@texts.csv")
    return " \\\n  ".join([*parts, shlex.quote(address + path)])
