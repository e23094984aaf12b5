"""The vendor's SDK as judge: request bodies as JSON lines on stdin, each held to the SDK's own types.

Runs in an environment of its own with the `anthropic` package, never in the gateway's. Unknown keys are faults, as they
are for the API. Bodies with a beta's blocks are held to the beta types. Exits with 1 and the reasons if any is wrong.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic  # type: ignore[import-not-found, unused-ignore]
import typing_extensions

# As iterables they would be checked lazily, that is never. Before the SDK is imported, which copies the name.
typing.Iterable = typing.List  # type: ignore[misc]  # noqa: UP006

# This file has the package's name: its folder must not be searched.
sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).parent.resolve()]

# What the body has on other hosts, in place of a header or a path.
ELSEWHERE = ("anthropic_version", "anthropic_beta")
# The beta types take answers' blocks too, and so much more: they are asked only for what needs them.
BETA = ('"compaction"', '"fallback"', '"mcp_tool_use"', '"mcp_tool_result"', '"advisor_tool_result"', '"mcp_servers"')


def modules(name: str) -> Iterator[Any]:
    package = importlib.import_module(name)
    yield package
    for found in pkgutil.iter_modules(package.__path__):
        if not found.ispkg:
            yield importlib.import_module(f"{name}.{found.name}")


def forbid_unknown_keys(name: str) -> None:
    for module in modules(name):
        for value in list(vars(module).values()):
            if (
                isinstance(value, type)
                and typing_extensions.is_typeddict(value)
                and not hasattr(value, "__pydantic_config__")
            ):
                setattr(value, "__pydantic_config__", {"extra": "forbid"})  # noqa: B010


def judges() -> list[list[Any]]:
    """For the plain and for the beta types: of a whole body, of a streamed one's, and of one block."""
    forbid_unknown_keys("anthropic.types")
    forbid_unknown_keys("anthropic.types.beta")
    found = []
    for name, block in (("anthropic.types", "ContentBlockParam"), ("anthropic.types.beta", "BetaContentBlockParam")):
        module = importlib.import_module(f"{name}.message_create_params")
        whole, streamed = module.MessageCreateParamsNonStreaming, module.MessageCreateParamsStreaming
        kinds = (whole, streamed, getattr(importlib.import_module(name), block))
        found.append([pydantic.TypeAdapter(kind) for kind in kinds])
    return found


def fault(body: dict[str, Any], adapters: list[Any]) -> str | None:
    whole, streamed, block = adapters
    try:
        (streamed if body.get("stream") else whole).validate_python(body)
        for message in body["messages"]:
            # In a whole body the SDK takes the blocks of answers too, with any keys.
            for content in message["content"] if isinstance(message["content"], list) else ():
                block.validate_python(content)
    except pydantic.ValidationError as error:
        return str(error)[:2000]
    return None


def main() -> int:
    plain, beta = judges()
    wrong = judged = 0
    for line in sys.stdin:
        body = json.loads(line)
        judged += 1
        for key in ELSEWHERE:
            body.pop(key, None)
        body.setdefault("model", "in-the-path")
        sampling = {key: body.pop(key) for key in ("temperature", "top_p", "top_k") if key in body}  # version of 2023
        reason = fault(body, beta if any(word in line for word in BETA) else plain)
        if reason is not None:
            wrong += 1
            print(f"line {judged}: {reason}", file=sys.stderr)
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in sampling.values()):
            wrong += 1
            print(f"line {judged}: {sampling}", file=sys.stderr)
    print(f"{judged} judged, {wrong} wrong")
    return 1 if wrong or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
