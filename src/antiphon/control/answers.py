"""Answers of the control port: JSON, and one shape for errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.responses import Response

NO_STORE: Final = {"cache-control": "no-store"}


class Json(Response):
    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return msgspec.json.encode(content)


def refusal(
    status: int, message: str, code: str, headers: Mapping[str, str] | None = None, param: str | None = None
) -> Json:
    """An error."""
    error: dict[str, Any] = {"code": code, "message": message}
    if param is not None:
        error["param"] = param
    return Json({"error": error}, status, headers={**NO_STORE, **(headers or {})})
