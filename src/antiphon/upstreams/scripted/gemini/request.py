"""A GenerateContentRequest: held to Google's rules, and told in OpenAI's words."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.gemini.contents import read_contents, text_of
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import say_choice, say_format, say_tool

FIELDS = frozenset(
    {
        *("contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"),
        *("cachedContent", "serviceTier", "store", "labels", "modelArmorConfig", "model"),
    }
)
CONFIG = frozenset(
    {
        *("temperature", "topP", "topK", "candidateCount", "maxOutputTokens", "stopSequences", "seed"),
        *("presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs", "responseMimeType", "responseSchema"),
        *("responseJsonSchema", "responseModalities", "thinkingConfig", "mediaResolution", "speechConfig"),
        *("imageConfig", "enableEnhancedCivicAnswers", "audioTimestamp", "routingConfig", "responseFormat"),
    }
)
MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto", "MODE_UNSPECIFIED": "auto"}
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
BAD_NAME = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
)
NAMED_BY_USERS = frozenset(
    {"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema", "labels"}
)
MOST_CANDIDATES = 8
MOST_STOPS = 5


def read_request(data: bytes, model: str) -> Document:
    body = read_body(data)
    config = body.get("generationConfig", {})
    check_names(body, FIELDS, "")
    check_names(config, CONFIG, " at 'generation_config'")
    check_config(config)
    system = body.get("systemInstruction")
    said = [{"role": "system", "content": text_of(objects_in(system.get("parts")))}] if isinstance(system, dict) else []
    document: Document = {"model": model, "messages": [*said, *read_contents(body.get("contents"), model)]}
    document |= {"tools": read_tools(body), "stop": config.get("stopSequences") or []}
    document |= {"n": config.get("candidateCount", 1), "max_tokens": config.get("maxOutputTokens")}
    document |= read_choice(body)
    document["thinks"] = thinks(config.get("thinkingConfig"))
    if config.get("responseMimeType") == "application/json":
        schema = config.get("responseJsonSchema") or lower(config.get("responseSchema"))
        document["response_format"] = say_format(schema) if schema else {"type": "json_object"}
    return document


def read_body(data: bytes) -> Document:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(400, "Invalid JSON payload received. Expected a value.") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "Invalid JSON payload received. Root element must be a message.")
    normal = spell_names(document)
    assert isinstance(normal, dict)
    return normal


def spell_names(value: object) -> object:
    """Google takes `function_call` for `functionCall`: here they are spelled in one way. Not within what users name."""
    if isinstance(value, list):
        return [spell_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    spelled = {camel(name): item for name, item in value.items()}
    return {name: item if name in NAMED_BY_USERS else spell_names(item) for name, item in spelled.items()}


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def check_names(value: object, known: frozenset[str], at: str) -> None:
    if not isinstance(value, dict):
        raise RefusedError(400, f"Invalid value{at}.")
    for name in value:
        if name not in known:
            raise RefusedError(
                400,
                f'Invalid JSON payload received. Unknown name "{name[:80]}"{at}: Cannot find field.',
                field=name[:80],
            )


def check_config(config: Document) -> None:
    count = config.get("candidateCount", 1)
    if type(count) is not int or not 1 <= count <= MOST_CANDIDATES:
        raise RefusedError(400, f"The specified candidate count is invalid. It must be from 1 to {MOST_CANDIDATES}.")
    limit = config.get("maxOutputTokens", 1)
    if type(limit) is not int or limit < 1:
        raise RefusedError(400, "max_output_tokens must be positive.", field="generation_config.max_output_tokens")
    temperature = config.get("temperature", 1)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        raise RefusedError(400, "temperature must be in the range [0.0, 2.0].", field="generation_config.temperature")
    stops = config.get("stopSequences", [])
    if not isinstance(stops, list) or len(stops) > MOST_STOPS or not all(isinstance(s, str) and s for s in stops):
        raise RefusedError(400, f"stop_sequences must be at most {MOST_STOPS} strings.", field="stop_sequences")
    thinking = config.get("thinkingConfig", {})
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        raise RefusedError(400, "You can only set only one of thinking budget and thinking level.")
    schemas = [name for name in ("responseSchema", "responseJsonSchema") if config.get(name) is not None]
    if len(schemas) == 2:
        raise RefusedError(400, "response_schema and response_json_schema cannot both be set.")
    if schemas and config.get("responseMimeType") != "application/json":
        kind = config.get("responseMimeType") or "text/plain"
        raise RefusedError(400, f"Response schema with response mime type: '{kind}' is unsupported.")


def thinks(config: object) -> bool:
    return isinstance(config, dict) and config.get("includeThoughts") is True


def read_tools(body: Document) -> list[Document]:
    tools = []
    for tool in objects_in(body.get("tools")):
        for place, declared in enumerate(objects_in(tool.get("functionDeclarations"))):
            at = f"tools[0].function_declarations[{place}].name"
            name = declared.get("name")
            if not isinstance(name, str) or NAME.fullmatch(name) is None:
                raise RefusedError(400, f"* GenerateContentRequest.{at}: {BAD_NAME}", field=at)
            if "parameters" in declared and "parametersJsonSchema" in declared:
                raise RefusedError(400, "parameters and parameters_json_schema cannot both be set.", field=at)
            tools.append(say_tool(name, declared.get("parametersJsonSchema") or lower(declared.get("parameters"))))
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedError(400, f"Duplicate function declaration found: {twice}")
    return tools


def lower(schema: object) -> Any:
    """Google's own schemas spell types in capitals."""
    if isinstance(schema, list):
        return [lower(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value.lower() if name == "type" and isinstance(value, str) else lower(value)
        for name, value in schema.items()
    }


def read_choice(body: Document) -> Document:
    config = body.get("toolConfig")
    calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
    if not isinstance(calling, dict):
        return {}
    mode = calling.get("mode", "AUTO")
    if mode not in MODES:
        raise RefusedError(400, f"Invalid value at 'tool_config.function_calling_config.mode': {mode!r:.40}")
    names = calling.get("allowedFunctionNames")
    if not names:
        return {"tool_choice": MODES[mode]}
    if mode not in ("ANY", "VALIDATED"):
        raise RefusedError(400, "Allowed function names should only be set when the mode is ANY or VALIDATED.")
    allowed = {"mode": MODES[mode], "tools": [say_choice(name) for name in names]}
    return {"tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}
