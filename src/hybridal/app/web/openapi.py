"""The OpenAPI document: for every route a summary, the lowest role that may use it, and an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from hybridal.app.people import ROLES
from hybridal.app.web.auth import ROLE_OF
from hybridal.app.web.routes.label_studio_routes import check_token

Json = dict[str, Any]

ABOUT = (
    "Everything the pages do is also available to programs: send `Authorization: Bearer` with a token from the page "
    "Programs. Paths, fields and their meaning do not change within a minor version; fields may be added to responses. "
    'A refused request gets a status of 400 or higher and `{"error": "one sentence"}`; after status 429, wait a second.'
)


def write_document(app: FastAPI, routers: Mapping[str, APIRouter]) -> Json:
    """Build the OpenAPI document of an app with these routers."""
    made = get_openapi(title="hybridal", version=app.version, description=ABOUT, routes=app.routes)
    made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    roles = {
        (method, route.path_format): role_of(route) for router in routers.values() for method, route in _routes(router)
    }
    for path, method, operation in operations(made):
        summary, _, more = operation.pop("description").partition("\n")
        operation |= {"summary": summary.strip().removesuffix("."), "description": more.strip()}
        operation["x-role"] = roles[method.upper(), path]
        operation["security"] = [{"token": []}] if operation["x-role"] in ROLES else []
        for content in _contents(operation):
            content["example"] = example(content["schema"], made["components"]["schemas"])
    return made


def _routes(router: APIRouter) -> Iterator[tuple[str, APIRoute]]:
    return ((method, route) for route in router.routes if isinstance(route, APIRoute) for method in route.methods or ())


def role_of(route: APIRoute) -> str:
    """The lowest role that may use a route: `browser` for all signed-in people but no tokens, `public` for all."""
    calls = (one.call for one in route.dependant.dependencies)
    return next((_ROLE_OF[call] for call in calls if call in _ROLE_OF), "public")


_ROLE_OF = {**ROLE_OF, check_token: "Label Studio"}


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Path, method and description of all operations."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _contents(operation: Json) -> Iterator[Json]:
    for part in (operation.get("requestBody"), operation["responses"].get("200"), operation["responses"].get("201")):
        if part and (content := part.get("content", {}).get("application/json")):
            yield content


def example(schema: Json, schemas: Mapping[str, Json]) -> Any:
    """An example value for a schema: its own example, else a simple value; optional fields without one are omitted.

    >>> example({"type": "object", "required": ["n"], "properties": {
    ...     "n": {"type": "integer", "minimum": 3}, "m": {"type": "integer"}}}, {})
    {'n': 3}
    """
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for keyword in ("examples", "enum"):
        if keyword in schema:
            return schema[keyword][0]
    for keyword in ("default", "const"):
        if keyword in schema:
            return schema[keyword]
    if kinds := schema.get("anyOf"):
        return example(kinds[0], schemas)
    if schema.get("type") == "object":
        needed, fields = schema.get("required", ()), schema.get("properties", {})
        return {name: example(of, schemas) for name, of in fields.items() if name in needed or "examples" in of}
    if schema.get("type") == "array":
        return [example(schema["items"], schemas)]
    plain = {"integer": int(schema.get("minimum", 1)), "number": 0.5, "boolean": True}
    return plain.get(str(schema.get("type")), "…")
