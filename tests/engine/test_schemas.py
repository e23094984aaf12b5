"""The real engine keeps to every schema that is not refused: what it writes is tried against the client's own schema.

llama.cpp goes on in free text where its copy of LLGuidance gives up, at once or in the middle, and says so in its log.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import jsonschema
import pytest

from tests.support.engine import Gateway

MODEL = "smollm2-135m-instruct"
CHAT = "/v1/chat/completions"


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def one(schema: dict[str, Any]) -> dict[str, Any]:
    return obj(value=schema)


HELD: dict[str, Any] = {
    "empty": {},
    "an open object": {"type": "object"},
    "a person": obj(name={"type": "string"}, age={"type": "integer", "minimum": 0, "maximum": 150}),
    "a number": one({"type": "number"}),
    "a place": obj(lat={"type": "number", "minimum": -90, "maximum": 90}, lon={"type": "number", "minimum": -180}),
    "below zero": one({"type": "number", "exclusiveMaximum": 0}),
    "at most -1": one({"type": "number", "maximum": -1}),
    "above zero": one({"type": "number", "exclusiveMinimum": 0}),
    "a share": one({"type": "number", "minimum": 0, "maximum": 1}),
    "between fractions": one({"type": "number", "exclusiveMinimum": -0.5, "exclusiveMaximum": 0.25}),
    "negative integers": one({"type": "integer", "maximum": -3, "minimum": -20}),
    "above zero, whole": one({"type": "integer", "exclusiveMinimum": 0}),
    "fives": one({"type": "integer", "multipleOf": 5, "minimum": 3}),
    "fives below zero": one({"type": "integer", "multipleOf": 5, "maximum": -1}),
    "days in seconds": one({"type": "integer", "multipleOf": 86400}),
    "a prime": one({"type": "integer", "multipleOf": 65537}),
    "a large prime": one({"type": "integer", "multipleOf": 999983}),
    "halves": one({"type": "number", "multipleOf": 0.5, "minimum": -2, "maximum": 2}),
    "uri": one({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083}),
    "email": one({"type": "string", "format": "email"}),
    "uuid": one({"type": "string", "format": "uuid"}),
    "date": one({"type": "string", "format": "date"}),
    "date-time": one({"type": "string", "format": "date-time"}),
    "time": one({"type": "string", "format": "time"}),
    "duration": one({"type": "string", "format": "duration"}),
    "ipv4": one({"type": "string", "format": "ipv4"}),
    "ipv6": one({"type": "string", "format": "ipv6"}),
    "hostname": one({"type": "string", "format": "hostname"}),
    "a uuid's pattern": one(
        {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"}
    ),
    "an email's pattern": one(
        {"type": "string", "pattern": r"^[a-zA-Z0-9._%+-]{1,64}@[a-zA-Z0-9.-]{1,64}\.[a-zA-Z]{2,24}$"}
    ),
    "a nullable reference": {
        **obj(item={"anyOf": [{"$ref": "#/$defs/item"}, {"type": "null"}]}),
        "$defs": {"item": obj(price={"type": "number"}, currency={"enum": ["EUR", "USD"]})},
    },
    "an escaped reference": {**obj(a={"$ref": "#/$defs/a%20b~1c"}), "$defs": {"a b/c": {"type": "boolean"}}},
    "a tree": {
        "type": "object",
        "properties": {
            "value": {"type": "number"},
            "children": {"type": "array", "items": {"$ref": "#"}, "maxItems": 1},
        },
        "required": ["value", "children"],
    },
    "a union by kind": one(
        {"oneOf": [obj(kind={"const": "cat"}, lives={"type": "integer"}), obj(kind={"const": "dog"})]}
    ),
    "types": one({"type": ["number", "null", "boolean"]}),
    "a tuple": one(
        {"type": "array", "prefixItems": [{"type": "number"}, {"type": "boolean"}], "minItems": 2, "items": False}
    ),
    "a dictionary": {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 2},
    "patterned keys": {
        "type": "object",
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
    },
    "keys under both": {
        "type": "object",
        "properties": {"ab": {"type": "integer"}},
        "patternProperties": {"^a": {"minimum": 10, "type": "integer"}},
        "required": ["ab"],
        "additionalProperties": False,
    },
    "words": {"enum": [f"word {number}" for number in range(20_000)]},
    "many shapes": {"anyOf": [obj(**{f"a{number}": {"type": "integer"}}) for number in range(500)]},
    "many optional keys": {
        "type": "object",
        "properties": {f"p{n}": {"type": "integer"} for n in range(150)},
        "required": ["p0"],
    },
    "all of": {
        "allOf": [
            obj(a={"type": "boolean"}) | {"additionalProperties": True},
            {"properties": {"b": {"type": "number"}}, "required": ["b"]},
        ]
    },
    "an empty set": one({"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 0}),
    "quotes in a key": obj(**{'say "hi"\\n': {"type": "number"}, "größe 😀": {"type": "boolean"}}),
}
REFUSED: dict[str, Any] = {
    "itself": {"$ref": "#"},
    "itself in allOf": {"allOf": [{"$ref": "#"}]},
    "a cycle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "itself without an end": obj(again={"$ref": "#"}),
    "2,100 shapes": {"anyOf": [obj(**{f"a{number}": {"type": "string"}}) for number in range(2100)]},
    "1,000 patterns": {"oneOf": [{"type": "string", "pattern": f"^a{number}[a-z]+$"} for number in range(1000)]},
    "a pattern for backtracking": one({"type": "string", "pattern": "^" + "a?" * 250 + "a" * 250 + "$"}),
    "3,000 objects": {"enum": [{"a": number} for number in range(3000)]},
    "a long text": {"const": "x y" * 30_000},
    "a control token": obj(**{"<|im_end|>": {"type": "string"}}),
    "a control token to say": {"const": "a<|im_start|>b"},
    "a uri with a pattern": one({"type": "string", "format": "uri", "pattern": "^ftp:"}),
    "a format that is none": one({"type": "string", "format": [], "pattern": "("}),
    "nothing between": one({"type": "number", "minimum": 2, "exclusiveMaximum": 2}),
}


def ask(http: httpx2.Client, schema: dict[str, Any], **more: Any) -> httpx2.Response:
    form = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema, "strict": True}}
    messages = [{"role": "user", "content": "JSON, please."}]
    body = {"model": MODEL, "messages": messages, "response_format": form, "max_tokens": 60, "seed": 5, **more}
    return http.post(CHAT, json=body)


@pytest.fixture(scope="module")
def written(embedded: Gateway) -> dict[str, httpx2.Response]:
    """What the engine writes for each schema. Four are asked for at a time: so the engine computes them together."""
    with httpx2.Client(base_url=embedded.url, timeout=60) as http, ThreadPoolExecutor(4) as threads:
        return dict(zip(HELD, threads.map(lambda schema: ask(http, schema), HELD.values()), strict=True))


@pytest.mark.parametrize("name", HELD)
def test_what_the_engine_writes_fits_the_schema(
    written: dict[str, httpx2.Response], embedded: Gateway, name: str
) -> None:
    answer = written[name]
    assert answer.status_code == 200, answer.text
    (choice,) = answer.json()["choices"]
    if choice["finish_reason"] == "stop":
        jsonschema.validate(json.loads(choice["message"]["content"]), HELD[name])
    assert "llg error" not in embedded.journal.read_text(errors="replace")


@pytest.mark.parametrize("schema", REFUSED.values(), ids=REFUSED.keys())
def test_what_the_engine_cannot_keep_to_is_refused(http: httpx2.Client, schema: dict[str, Any]) -> None:
    answer = ask(http, schema)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "response_format"), answer.text
    assert error["message"].startswith("Invalid schema for response_format 'it': ")


def test_a_stop_word_may_cut_json(http: httpx2.Client) -> None:
    answer = ask(http, obj(name={"const": "Ann"}, city={"const": "Rome"}), stop=["city"])
    (choice,) = answer.json()["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ('{"name": "Ann", "', "stop")
