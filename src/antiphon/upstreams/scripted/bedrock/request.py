"""A Converse request: held to Bedrock's rules, and told in OpenAI's words."""

from __future__ import annotations

import re

import msgspec

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.bedrock.messages import read_messages
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import join, say_choice, say_format, say_tool

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MOST_STOPS = 2500
CHOICES = {"auto": "auto", "any": "required"}


def read_request(data: bytes, model: str) -> Document:
    body = read_body(data)
    inference = body.get("inferenceConfig") or {}
    check_inference(inference)
    tools = read_tools(body.get("toolConfig"))
    system = objects_in(body.get("system"))
    for index, block in enumerate(system):
        if "text" in block and not block["text"]:
            refuse_value("", f"system.{index + 1}.member.text", "Member must have length greater than or equal to 1")
    said = [{"role": "system", "content": join(block.get("text") for block in system)}] if system else []
    document: Document = {"model": model, "messages": [*said, *read_messages(body)], "tools": tools}
    document |= {"max_tokens": inference.get("maxTokens"), "stop": inference.get("stopSequences") or []}
    document |= read_choice(body.get("toolConfig"), tools)
    guardrail = body.get("guardrailConfig")
    document["traces"] = isinstance(guardrail, dict) and guardrail.get("trace", "disabled") != "disabled"
    document["thinks"] = thinks(body.get("additionalModelRequestFields"))
    if schema := read_schema(body.get("outputConfig")):
        document["response_format"] = say_format(schema)
    return document


def read_body(data: bytes) -> Document:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(400, "The request body is not valid JSON.", "SerializationException") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "Start of structure or map found where not expected.", "SerializationException")
    return document


def refuse_value(value: object, at: str, rule: str) -> None:
    raise RefusedError(
        400,
        f"1 validation error detected: Value '{str(value)[:80]}' at '{at}' failed to satisfy constraint: {rule}",
    )


def check_inference(config: Document) -> None:
    limit = config.get("maxTokens", 1)
    if type(limit) is not int or limit < 1:
        refuse_value(limit, "inferenceConfig.maxTokens", "Member must have value greater than or equal to 1")
    for name in ("temperature", "topP"):
        value = config.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            refuse_value(value, f"inferenceConfig.{name}", "Member must have value greater than or equal to 0")
        if value > 1:
            refuse_value(value, f"inferenceConfig.{name}", "Member must have value less than or equal to 1")
    stops = config.get("stopSequences", [])
    if not isinstance(stops, list) or len(stops) > MOST_STOPS or not all(isinstance(s, str) and s for s in stops):
        rule = "Member must satisfy constraint: [Member must have length greater than or equal to 1]"
        refuse_value(stops, "inferenceConfig.stopSequences", rule)


def read_tools(config: object) -> list[Document]:
    if not isinstance(config, dict):
        return []
    listed = objects_in(config.get("tools"))
    if not listed:
        refuse_value("[]", "toolConfig.tools", "Member must have length greater than or equal to 1")
    tools = []
    for index, tool in enumerate(listed):
        if isinstance(spec := tool.get("toolSpec"), dict):
            tools.append(read_spec(spec, f"toolConfig.tools.{index + 1}.member.toolSpec"))
    names = [tool["function"]["name"] for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RefusedError(
            400,
            f"The tool {twice} is already defined at toolConfig.tools.{names.index(twice)}. Use a unique tool name.",
        )
    return tools


def read_spec(spec: Document, at: str) -> Document:
    name, schema = spec.get("name"), spec.get("inputSchema")
    if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
        refuse_value(name, f"{at}.name", "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
    if spec.get("description", "x") == "":
        refuse_value("", f"{at}.description", "Member must have length greater than or equal to 1")
    if not isinstance(schema, dict) or not isinstance(schema.get("json"), dict):
        refuse_value("null", f"{at}.inputSchema", "Member must not be null")
    assert isinstance(schema, dict)
    if schema["json"].get("type") != "object":
        place = f"{at.replace('.member', '')}.inputSchema.json.type"
        raise RefusedError(400, f"The value at {place} must be one of the following: object.")
    return say_tool(name, schema["json"])


def read_choice(config: object, tools: list[Document]) -> Document:
    choice = config.get("toolChoice") if isinstance(config, dict) else None
    if not isinstance(choice, dict):
        return {}
    if len(choice) != 1:
        raise RefusedError(400, "toolConfig.toolChoice: exactly one of auto, any and tool must be set.")
    kind = next(iter(choice))
    if kind in CHOICES:
        return {"tool_choice": CHOICES[kind]}
    name = choice["tool"].get("name") if kind == "tool" else None
    if name not in [tool["function"]["name"] for tool in tools]:
        raise RefusedError(400, f"The tool {name} in toolConfig.toolChoice is not defined in toolConfig.tools.")
    return {"tool_choice": say_choice(name)}


def thinks(fields: object) -> bool:
    """Each maker's model has its own word for it."""
    if not isinstance(fields, dict):
        return False
    for name in ("thinking", "reasoning_config", "reasoningConfig"):
        config = fields.get(name)
        if isinstance(config, dict) and config.get("type") not in (None, "disabled"):
            return True
    return "reasoning_effort" in fields


def read_schema(config: object) -> object:
    form = config.get("textFormat") if isinstance(config, dict) else None
    if not isinstance(form, dict):
        return None
    schema = form["structure"]["jsonSchema"]["schema"]
    try:
        return msgspec.json.decode(schema)
    except (msgspec.DecodeError, TypeError):
        raise RefusedError(400, "outputConfig.textFormat: the JSON schema is not valid JSON.") from None
