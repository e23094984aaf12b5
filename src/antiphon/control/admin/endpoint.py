"""An endpoint of the admin API as a value: the router and the OpenAPI document are made from the same rows."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request

LARGEST_BODY: Final = 64 * 1024
MOST_ROWS: Final = 1000

T = TypeVar("T")


class AdminError(Exception):
    """What the admin is told instead of an answer."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    about: str
    kind: str = "string"  # as JSON Schema has it


@dataclass(frozen=True, slots=True)
class AdminEndpoint:
    method: str
    path: str  # behind /admin/v1; {key} is a parameter
    about: str
    answer: Callable[[Request], Awaitable[Any]]  # the document
    query: tuple[Param, ...] = ()
    body: type[Any] | None = None
    status: int = 200
    is_open: bool = False  # without a credential
    text_body: str | None = field(default=None)  # a body that is text: its media type


PAGE: Final = (
    Param("limit", f"rows at most, 1 to {MOST_ROWS}; default 100", "integer"),
    Param("after", "`next` of the page before"),
)


async def read_body(request: Request, limit: int = LARGEST_BODY) -> bytes:
    """Bounded, whatever `content-length` says."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise AdminError(413, "request_too_large", f"The body is larger than {limit} bytes.")
    return bytes(body)


async def read_json(request: Request, shape: type[T]) -> T:
    body = await read_body(request)
    try:
        return msgspec.json.decode(body or b"{}", type=shape)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$.")
        raise AdminError(400, "invalid_request", f"{message}.", where.rstrip("`") or None) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise AdminError(400, "invalid_json", "The body is not JSON.") from None


def check_query(request: Request, known: tuple[Param, ...]) -> None:
    """A misspelt parameter would silently ask for something else."""
    names = {param.name for param in known}
    for name in request.query_params:
        if name not in names:
            words = ", ".join(sorted(names)) or "none"
            raise AdminError(400, "unknown_parameter", f"There is no such parameter here; there are: {words}.", name)


def read_count(request: Request, name: str = "limit", default: int = 100) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST_ROWS:
        raise AdminError(400, "invalid_parameter", f"Must be a number from 1 to {MOST_ROWS}.", name)
    return int(text)


def read_cursor(request: Request, shape: type[T]) -> T | None:
    text = request.query_params.get("after")
    if not text:
        return None
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=shape)
    except (ValueError, msgspec.MsgspecError):
        raise AdminError(400, "invalid_parameter", "Is no `next` of an earlier page.", "after") from None


def write_cursor(place: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def page(rows: list[Any], cursor: object, limit: int) -> Mapping[str, Any]:
    """`next`: null where the page was not full."""
    return {"rows": rows, "next": write_cursor(cursor) if len(rows) == limit else None}
