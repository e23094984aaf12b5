"""The conversation of a Messages request: who may say what, and in which order."""

from __future__ import annotations

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import join, say_call
from antiphon.upstreams.scripted.signatures import is_sealed, is_signed

ROLES = ("user", "assistant", "system")
# What each kind of block must have.
NEEDS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "search_result": ("content", "source", "title"),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "server_tool_use": ("id", "name", "input"),
    "container_upload": ("file_id",),
    "compaction": ("content",),
    "fallback": (),
    "mcp_tool_use": ("id", "name", "input"),
    "mcp_tool_result": ("tool_use_id",),
}
OF_ASSISTANT = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use", "fallback", "mcp_tool_use"})
THINKING = frozenset({"thinking", "redacted_thinking"})


def read_system(system: object) -> list[Document]:
    if system is None:
        return []
    if isinstance(system, str):
        return [{"role": "system", "content": system}]
    if not isinstance(system, list):
        raise RefusedError(400, "system: Input should be a valid list")
    for index, block in enumerate(objects_in(system)):
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            raise RefusedError(400, f"system.{index}.text: Field required")
        if not block["text"]:
            raise RefusedError(400, "system: text content blocks must be non-empty")
    return [{"role": "system", "content": join(block["text"] for block in objects_in(system))}]


def read_messages(body: Document) -> list[Document]:
    messages = body["messages"]
    if not messages:
        raise RefusedError(400, "messages: at least one message is required")
    for index, message in enumerate(messages):
        check_message(message, index, is_last=index == len(messages) - 1)
    if messages[0]["role"] == "assistant":
        raise RefusedError(400, 'messages: first message must use the "user" role')
    turns = merge(messages)
    check_calls(turns)
    check_thinking(turns, body.get("thinking"))
    return [said for turn in turns for said in say(turn)]


def check_message(message: object, index: int, *, is_last: bool) -> None:
    at = f"messages.{index}"
    if not isinstance(message, dict):
        raise RefusedError(400, f"{at}: Input should be a valid dictionary")
    role = message.get("role")
    if role not in ROLES:
        raise RefusedError(
            400, f'messages: Unexpected role "{role}". Allowed roles are "user", "assistant" or "system".'
        )
    for key in message:
        if key not in ("role", "content"):
            raise RefusedError(400, f"{at}.{key}: Extra inputs are not permitted")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise RefusedError(400, f"{at}.content: " + ("Input should be a valid list" if content else "Field required"))
    if not content and not (role == "assistant" and is_last):
        raise RefusedError(400, f"{at}: {role} messages must have non-empty content")
    for place, block in enumerate(content if isinstance(content, list) else ()):
        check_block(block, role, f"{at}.content.{place}")
    if role == "assistant" and is_last and (said := blocks(message)) and said[-1].get("text", "x")[-1:].isspace():
        raise RefusedError(400, "messages: final assistant content cannot end with trailing whitespace")


def check_block(block: object, role: str, at: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(kind, str):
        raise RefusedError(400, f"{at}.type: Field required")
    if kind not in NEEDS and not kind.endswith("_tool_result"):
        raise RefusedError(400, f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    for name in NEEDS.get(kind, ("tool_use_id",)):
        if name not in block:
            raise RefusedError(400, f"{at}.{kind}.{name}: Field required")
    if kind in OF_ASSISTANT and role != "assistant":
        raise RefusedError(400, f"{at}: `{kind}` blocks can only be in `assistant` messages")
    if kind == "tool_result" and role != "user":
        raise RefusedError(400, f"{at}: `tool_result` blocks can only be in `user` messages")
    if kind == "text" and not block["text"]:
        raise RefusedError(400, "messages: text content blocks must be non-empty")
    if kind == "tool_use" and not isinstance(block["input"], dict):
        raise RefusedError(400, f"{at}.tool_use.input: Input should be a valid dictionary")
    if kind == "thinking" and not is_signed("thinking", block["thinking"], block["signature"]):
        raise RefusedError(400, f"{at}: Invalid `signature` in `thinking` block")
    if kind == "redacted_thinking" and not is_sealed(block["data"]):
        raise RefusedError(400, f"{at}: Invalid `data` in `redacted_thinking` block")


def blocks(message: Document) -> list[Document]:
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return objects_in(content)


def merge(messages: list[Document]) -> list[Document]:
    """Neighbours of one role are one turn."""
    turns: list[Document] = []
    for message in messages:
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"] += blocks(message)
        else:
            turns.append({"role": message["role"], "content": list(blocks(message))})
    return turns


def check_calls(turns: list[Document]) -> None:
    """The results of all calls come first in the next message, and no others."""
    for index, turn in enumerate(turns):
        before = turns[index - 1]["content"] if index else []
        called = [block["id"] for block in before if block["type"] == "tool_use"]
        content = turn["content"]
        for place, block in enumerate(content):
            if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                raise RefusedError(
                    400,
                    f"messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding `tool_use` block in "
                    "the previous message.",
                )
        answered = [block["tool_use_id"] for block in content[: len(called)] if block["type"] == "tool_result"]
        missing = [identity for identity in called if identity not in answered]
        if missing:
            _refuse_unanswered(index - 1, missing)
        if len(set(answered)) < len(answered):
            raise RefusedError(400, f"messages.{index}: each tool_use must have a single result.")
    open_calls = [block["id"] for block in turns[-1]["content"] if block["type"] == "tool_use"]
    if open_calls:
        _refuse_unanswered(len(turns) - 1, open_calls)


def _refuse_unanswered(index: int, missing: list[str]) -> None:
    raise RefusedError(
        400,
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
    )


def check_thinking(turns: list[Document], thinking: object) -> None:
    """While a turn with calls goes on, its thinking must be there, before the calls."""
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled" or len(turns) < 2:
        return
    results = any(block["type"] == "tool_result" for block in turns[-1]["content"])
    first = turns[-2]["content"][0]["type"] if results and turns[-2]["content"] else ""
    if results and first not in THINKING:
        raise RefusedError(
            400,
            f"messages.{len(turns) - 2}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.",
        )


def say(turn: Document) -> list[Document]:
    """A turn in OpenAI's words: results of tools are messages of their own, after which nothing else is said."""
    content = turn["content"]
    results = [block for block in content if block["type"] == "tool_result"]
    if results:
        return [
            {"role": "tool", "tool_call_id": block["tool_use_id"], "content": flat(block.get("content"))}
            for block in results
        ]
    said: Document = {"role": turn["role"], "content": flat(content)}
    calls = [say_call(block["id"], block["name"], block["input"]) for block in content if block["type"] == "tool_use"]
    return [{**said, "tool_calls": calls}] if calls else [said]


def flat(content: object) -> str:
    if isinstance(content, str):
        return content
    return join(
        block.get("text", f"[{block.get('type')}]")
        for block in objects_in(content)
        if block.get("type") not in THINKING
    )
