"""The OpenAPI document, made from the endpoints themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antiphon import __version__
from antiphon.control.admin.endpoint import AdminEndpoint

ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "param": {"type": "string", "description": "the field or parameter that is wrong"},
            },
        }
    },
}


def describe(endpoints: Sequence[AdminEndpoint]) -> dict[str, Any]:
    bodies = [endpoint.body for endpoint in endpoints if endpoint.body is not None]
    _, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Antiphon admin API", "version": __version__},
        "servers": [{"url": "/admin/v1"}],
        "security": [{"admin": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Error": ERROR},
            "securitySchemes": {"admin": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: AdminEndpoint) -> dict[str, Any]:
    words = re.findall(r"[a-z]+", endpoint.path.replace("{key}", ""))
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ] + [
        {"name": param.name, "in": "query", "description": param.about, "schema": {"type": param.kind}}
        for param in endpoint.query
    ]
    operation: dict[str, Any] = {
        "operationId": "_".join([endpoint.method.lower(), *words, *(["one"] if "{key}" in endpoint.path else [])]),
        "summary": endpoint.about,
        "responses": {
            str(endpoint.status): {
                "description": "Done.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "default": {
                "description": "Refused.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if endpoint.is_open:
        operation["security"] = []
    body = _body(endpoint)
    return operation if body is None else {**operation, "requestBody": body}


def _body(endpoint: AdminEndpoint) -> dict[str, Any] | None:
    if endpoint.text_body is not None:
        return {"required": True, "content": {endpoint.text_body: {"schema": {"type": "string"}}}}
    if endpoint.body is None:
        return None
    schema = {"$ref": f"#/components/schemas/{endpoint.body.__name__}"}
    return {"required": True, "content": {"application/json": {"schema": schema}}}
