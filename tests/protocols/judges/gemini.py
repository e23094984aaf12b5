"""Google's SDK as the judge of our requests: run it where `google-genai` is installed.

Reads JSON lines: {"body": {…}, "vertex": false}. Each body is validated against the SDK's types, which forbid unknown
fields, and then said again by the SDK's own converter for that host. Exits with 1 and the reasons.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
import warnings
from typing import Any

genai: Any = importlib.import_module("google.genai")
models, types = genai.models, genai.types

Document = dict[str, Any]
# Fields of the body beside `contents` and `generationConfig`, which the SDK's config holds too.
FIELDS = {
    "systemInstruction": "system_instruction",
    "tools": "tools",
    "toolConfig": "tool_config",
    "safetySettings": "safety_settings",
    "cachedContent": "cached_content",
    "serviceTier": "service_tier",
    "labels": "labels",
    "store": "store",
    "modelArmorConfig": "model_armor_config",
}


def judge(body: Document, client: Any, *, vertex: bool) -> list[str]:
    """The differences between the request and what the SDK would have sent."""
    unknown = body.keys() - FIELDS.keys() - {"contents", "generationConfig"}
    if unknown:
        return [f"unknown fields {sorted(unknown)}"]
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))
    fields = {FIELDS[key]: value for key, value in body.items() if key in FIELDS}
    config = types.GenerateContentConfig.model_validate({**body.get("generationConfig", {}), **fields})
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    asked = types._GenerateContentParameters(model="m", contents=contents, config=config)
    convert = models._GenerateContentParameters_to_vertex if vertex else models._GenerateContentParameters_to_mldev
    said = convert(client._api_client, asked, None, asked)
    return list(differences(plain(body["contents"]), plain(said["contents"]), "contents"))


def plain(value: Any) -> Any:
    """Values as they are sent: names in one spelling, bytes as base64, enums as words, nothing that is null."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        return {snake(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return getattr(value, "value", value)


def snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def differences(ours: Any, theirs: Any, place: str) -> Any:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() | theirs.keys():
            yield from differences(ours.get(key), theirs.get(key), f"{place}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{place}[{index}]")
    elif ours != theirs and not same_bytes(ours, theirs):
        yield f"{place}: we say {ours!r:.80}, the SDK {theirs!r:.80}"


def same_bytes(ours: Any, theirs: Any) -> bool:
    """base64 in either alphabet, with or without padding."""
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return False
    return ours.translate({45: 43, 95: 47}).rstrip("=") == theirs.translate({45: 43, 95: 47}).rstrip("=")


def main() -> int:
    warnings.simplefilter("error", UserWarning)  # a word that no enum has
    gemini = genai.Client(api_key="unused")
    vertex = genai.Client(vertexai=True, api_key="unused")
    wrong = 0
    for number, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        on_vertex = bool(request.get("vertex"))
        try:
            reasons = judge(request["body"], vertex if on_vertex else gemini, vertex=on_vertex)
        except Exception as error:  # pydantic's, and the converters' ValueError
            reasons = [f"{type(error).__name__}: {error}"]
        for reason in reasons:
            print(f"line {number}: {reason}", file=sys.stderr)
        wrong += bool(reasons)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
