"""What a reader finds on its way through a request: names of its own parameters, and what could not be said."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from antiphon.chat.checks import RequestFault, missing, read_type, unknown, wrong_type
from antiphon.document import Document
from antiphon.errors import RequestError

NOT_IN_CHAT = "the upstream is asked by Chat Completions, which has no place for it"


class RequestNotes(msgspec.Struct):
    strict: bool
    names: dict[str, str] = msgspec.field(default_factory=dict)
    dropped: dict[str, str] = msgspec.field(default_factory=dict)
    refusal: RequestError | None = None  # why a chat request cannot say it; an upstream of this API may take it
    beside: list[object] = msgspec.field(default_factory=list)  # items that are of no chat request

    def refuse(self, error: RequestError) -> None:
        self.refusal = self.refusal or error

    def drop(self, param: str, reason: str = NOT_IN_CHAT) -> None:
        """Names what is not sent. Strict refuses it."""
        if self.strict:
            raise unsupported(param, reason)
        self.dropped[param] = reason

    def drop_others(self, value: Mapping[str, object], known: Collection[str], path: str) -> None:
        """Names the keys of an object that nobody reads."""
        for name in value:
            if name not in known and value[name] is not None:
                if self.strict:
                    fault = unknown(name)
                    fault.under(path + ".")
                    raise fault
                self.dropped[f"{path}.{name[:64]}"] = NOT_IN_CHAT


def unsupported(param: str, reason: str) -> RequestError:
    return RequestError(f"Unsupported parameter: '{param}': {reason}.", param=param, code="unsupported_parameter")


def unsupported_value(param: str, value: str, reason: str) -> RequestError:
    text = f"Unsupported value: '{param}' does not support '{value[:64]}' here: {reason}."
    return RequestError(text, param=param, code="unsupported_value")


def at(path: str, fault: RequestFault) -> RequestFault:
    """The fault, with its place."""
    fault.under(path)
    return fault


def as_object(value: object, path: str) -> Document:
    if type(value) is not dict:
        raise at(path, wrong_type("an object", value))
    return value


def as_list(value: object, path: str) -> list[object]:
    if type(value) is not list:
        raise at(path, wrong_type("an array", value))
    return value


def as_text(value: object, path: str) -> str:
    if type(value) is not str:
        raise at(path, wrong_type("a string", value))
    return value


def text_of(value: Document, name: str, path: str) -> str:
    """A string that must be there."""
    if name not in value:
        raise missing(f"{path}.{name}")
    return as_text(value[name], f"{path}.{name}")


def type_of(value: Document, path: str) -> str:
    try:
        return read_type(value)
    except RequestFault as fault:
        raise at(path, fault) from None
