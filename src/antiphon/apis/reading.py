"""Reads values of a request in any API. What is wrong is told with the field's own path: `messages.0.content`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from antiphon.document import Document
from antiphon.errors import RequestError

_KINDS: Final = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    dict: "an object",
    list: "an array",
    type(None): "null",
}


def fault(param: str, words: str, code: str = "invalid_value") -> RequestError:
    return RequestError(f"{param}: {words}", param=param, code=code)


def missing(param: str) -> RequestError:
    return fault(param, "Field required", "missing_required_parameter")


def wrong_type(param: str, wanted: str, value: object) -> RequestError:
    found = _KINDS.get(type(value), type(value).__name__)
    return fault(param, f"Input should be {wanted}, but it is {found}", "invalid_type")


def read_object(value: object, param: str) -> Document:
    if not isinstance(value, dict):
        raise wrong_type(param, "an object", value)
    return value


def read_text(holder: Document, key: str, param: str) -> str:
    """A text that must be there."""
    if holder.get(key) is None:
        raise missing(join(param, key))
    value = holder[key]
    if not isinstance(value, str):
        raise wrong_type(join(param, key), "a string", value)
    return value


def read_list(value: object, param: str) -> list[Any]:
    if not isinstance(value, list):
        raise wrong_type(param, "an array", value)
    return value


def read_objects(value: object, param: str) -> Iterator[tuple[str, Document]]:
    """The objects of an array, each with its path."""
    for place, item in enumerate(read_list(value, param)):
        path = f"{param}.{place}"
        yield path, read_object(item, path)


def read_texts(value: object, param: str) -> list[str]:
    for place, item in enumerate(read_list(value, param)):
        if not isinstance(item, str):
            raise wrong_type(f"{param}.{place}", "a string", item)
    return list(value) if isinstance(value, list) else []


def read_integer(value: object, param: str, least: int = 0) -> int:
    if type(value) is not int:
        raise wrong_type(param, "an integer", value)
    if value < least:
        raise fault(param, f"Input should be greater than or equal to {least}", "integer_below_min_value")
    return value


def read_number(value: object, param: str) -> float:
    if type(value) is not int and type(value) is not float:
        raise wrong_type(param, "a number", value)
    return value


def read_flag(value: object, param: str) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(param, "a boolean", value)
    return value


def join(param: str, key: str) -> str:
    return f"{param}.{key}" if param else key


def write_json(value: object, param: str) -> str:
    """An object of the client's as the text that Chat Completions has in its place."""
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, RecursionError):
        raise fault(param, "it cannot be written as JSON") from None
