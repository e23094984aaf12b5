# mypy: disable-error-code="import-not-found,import-untyped"
"""Cohere's own SDK as the judge of what we say to Cohere. Needs the package cohere; nothing of the gateway.

Reads JSON lines on stdin, each a request {"path": …, "body": …}. Exits with 1 and the reasons where the types of the
SDK do not take one.
"""

from __future__ import annotations

import json
import sys
import typing
from typing import Any

sys.path.pop(0)  # this directory, where this file would stand for the package

import pydantic
from cohere.v2.client import V2Client

TYPES = typing.get_type_hints(V2Client.chat, include_extras=True)
ADAPTERS = {
    name: pydantic.TypeAdapter(kind) for name, kind in TYPES.items() if name not in ("return", "request_options")
}
NEEDED = ("model", "messages", "stream")


def judge(line: dict[str, Any]) -> list[str]:
    body = line["body"]
    faults = [f"{name}: missing" for name in NEEDED if name not in body]
    if line["path"] != "/v2/chat":
        faults.append(f"path: {line['path']}")
    for name, value in body.items():
        if name == "stream":
            continue
        if name not in ADAPTERS:
            faults.append(f"{name}: no such parameter")
            continue
        try:
            read = ADAPTERS[name].validate_python(value)
        except pydantic.ValidationError as error:
            faults.append(f"{name}: {error}")
        else:
            faults += strangers(read, name)
    return faults


def strangers(value: Any, at: str) -> list[str]:
    """Members that the SDK lets through though it does not know them."""
    if isinstance(value, pydantic.BaseModel):
        found = [f"{at}.{key}: no such member" for key in value.model_extra or ()]
        for key in type(value).model_fields:
            found += strangers(getattr(value, key), f"{at}.{key}")
        return found
    if isinstance(value, list):
        return [fault for place, item in enumerate(value) for fault in strangers(item, f"{at}[{place}]")]
    return []


def main() -> int:
    failed = 0
    for number, line in enumerate(sys.stdin, start=1):
        for fault in judge(json.loads(line)):
            failed = 1
            print(f"line {number}: {fault}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
