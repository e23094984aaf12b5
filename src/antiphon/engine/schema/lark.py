"""A narrowed schema as the right side of a grammar rule, with what that needs on the lines after it.

Most of it is left to LLGuidance (`%json`). What holds a number is spelled out here down to it, for the sake of its
digits (`decimals`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from antiphon.engine.schema.numbers import fitted, range_of, terminals

Schema = dict[str, Any]
STYLE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
COMMA: Final = '", "'
WITHIN: Final = ("properties", "patternProperties", "anyOf", "prefixItems")


def json_rule(schema: Schema) -> str:
    """As it is, whatever it holds."""
    return "%json " + text_of({**schema, "x-guidance": {**schema.get("x-guidance", {}), **STYLE}})


def rule_of(schema: Schema) -> str:
    if not holds_number(schema):
        return json_rule(schema)
    spelling = GrammarWriter()
    return "\n".join((spelling.name(schema), *spelling.lines))


def holds_number(schema: Any) -> bool:
    if type(schema) is not dict or schema.keys() & {"enum", "const"}:
        return False
    if is_number(schema):
        return True
    for word in WITHIN:
        inner = schema.get(word, ())
        if any(map(holds_number, inner.values() if type(inner) is dict else inner)):
            return True
    return holds_number(schema.get("items"))


def is_number(schema: Schema) -> bool:
    return schema.get("type") == "number" and not schema.keys() & {"multipleOf", "enum", "const"}


def text_of(schema: Any) -> str:
    return msgspec.json.encode(schema).decode()


class GrammarWriter:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[str, str] = {}

    def name(self, schema: Schema) -> str:
        """Of the rule for this schema."""
        key = text_of(schema)
        if key not in self._known:
            self._known[key] = f"V{len(self._known)}" if is_number(schema) else f"v{len(self._known)}"
            self._define(self._known[key], schema)
        return self._known[key]

    def _define(self, name: str, schema: Schema) -> None:
        if is_number(schema):
            self.lines += terminals(fitted(range_of(schema)), name)
        else:
            self.lines.append(f"{name}: {self._body(schema)}")

    def _body(self, schema: Schema) -> str:
        if not holds_number(schema):
            return json_rule(schema)
        if "anyOf" in schema:
            return " | ".join(self.name(branch) for branch in schema["anyOf"])
        if "properties" in schema:
            return self._object(schema["properties"], set(schema["required"]))
        if "patternProperties" in schema:
            return self._dictionary(schema)
        return self._array(schema)

    def _object(self, fields: Schema, required: set[str]) -> str:
        """The first of the fields that is there has no comma before it."""
        pairs = [f"{literal(text_of(name) + ': ')} {self.name(inner)}" for name, inner in fields.items()]
        is_required = [name in required for name in fields]
        first = [*is_required, True].index(True)
        tails = [""] * (len(pairs) + 1)
        for at in reversed(range(len(pairs))):
            pair = f"{COMMA} {pairs[at]}" if is_required[at] else f"({COMMA} {pairs[at]})?"
            tails[at] = self._shared(f"{pair} {tails[at + 1]}".strip()) if at <= first else f"{pair} {tails[at + 1]}"
        beginnings = [f"{pair} {tails[at + 1]}" for at, pair in enumerate(pairs[: first + 1])]
        inner = f"({' | '.join(beginnings)})" + ("" if any(is_required) else "?")
        return f'"{{" {inner} "}}"'

    def _shared(self, body: str) -> str:
        name = f"t{len(self.lines)}_{len(self._known)}"
        self.lines.append(f"{name}: {body}")
        return name

    def _dictionary(self, schema: Schema) -> str:
        pairs = [
            f'{self.name({"type": "string", "pattern": pattern})} ": " {self.name(inner)}'
            for pattern, inner in schema["patternProperties"].items()
        ]
        least, most = schema["minProperties"], schema["maxProperties"]
        return f'"{{" {sequence(self._shared(" | ".join(pairs)), least, most)} "}}"'

    def _array(self, schema: Schema) -> str:
        least, most = schema["minItems"], schema["maxItems"]
        first = [self.name(each) for each in schema.get("prefixItems", ())[:most]]
        if not first:
            return f'"[" {sequence(self.name(schema["items"]), least, most)} "]"'
        more = most - len(first)
        inner = f"({COMMA} {self.name(schema['items'])}){{{max(0, least - len(first))},{more}}}" if more else ""
        for at in reversed(range(len(first))):
            inner = f"{COMMA + ' ' if at else ''}{first[at]} {inner}"
            inner = inner if at < least else f"({inner})?"
        return f'"[" {inner} "]"'


def sequence(item: str, least: int, most: int) -> str:
    if most == 0:
        return ""
    some = f"{item} ({COMMA} {item}){{{max(least, 1) - 1},{most - 1}}}"
    return some if least else f"({some})?"


def literal(text: str) -> str:
    return text_of(text)
