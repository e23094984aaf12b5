"""The conversation of a Converse request: who may say what, and in which order."""

from __future__ import annotations

import re
from itertools import pairwise

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import join, say_call
from antiphon.upstreams.scripted.signatures import is_sealed, is_signed

BLOCKS = frozenset(
    {
        *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint"),
        *("reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval"),
    }
)
CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
ALTERNATE = (
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
    "user and assistant roles and try again."
)
START = "A conversation must start with a user message. Try again with a conversation that starts with a user message."
NO_CONFIG = "The toolConfig field must be defined when using toolUse and toolResult content blocks."


def read_messages(body: Document) -> list[Document]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError(400, START)
    for index, message in enumerate(messages):
        check_message(message, index)
    turns = [message for message in messages if message["role"] != "system"]
    if not turns or turns[0]["role"] != "user":
        raise RefusedError(400, START)
    if any(one["role"] == other["role"] for one, other in pairwise(turns)):
        raise RefusedError(400, ALTERNATE)
    if not isinstance(body.get("toolConfig"), dict) and any(of_kind(m, "toolUse", "toolResult") for m in turns):
        raise RefusedError(400, NO_CONFIG)
    check_calls(turns)
    return [said for message in messages for said in say(message)]


def check_message(message: object, index: int) -> None:
    at = f"messages.{index}"
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant", "system"):
        raise RefusedError(400, f"{at}.role: Member must satisfy enum value set: [user, assistant, system]")
    content = message.get("content")
    if not isinstance(content, list) or not content:
        raise RefusedError(
            400,
            f"The content field in the Message object at {at} is empty. Add a ContentBlock object to the content field "
            "and try again.",
        )
    for place, block in enumerate(content):
        check_block(block, message["role"], f"{at}.content.{place}")


def check_block(block: object, role: str, at: str) -> None:
    if not isinstance(block, dict) or len(block) != 1 or not block.keys() <= BLOCKS:
        raise RefusedError(400, f"The ContentBlock object at {at} must set one of the following keys: text, image, ...")
    kind, value = next(iter(block.items()))
    if kind == "text" and (not isinstance(value, str) or not value.strip()):
        raise RefusedError(
            400,
            f"The text field in the ContentBlock object at {at} is blank. Add text to the text field, and try again.",
        )
    if kind in ("toolUse", "reasoningContent") and role != "assistant":
        raise RefusedError(400, f"The {kind} block at {at} is only allowed in assistant messages.")
    if kind == "toolResult" and role != "user":
        raise RefusedError(400, f"The toolResult block at {at} is only allowed in user messages.")
    if kind in ("toolUse", "toolResult"):
        check_tool_block(kind, value, at)
    if kind == "reasoningContent":
        check_reasoning(value, at)


def check_tool_block(kind: str, value: Document, at: str) -> None:
    identity = value.get("toolUseId")
    if not isinstance(identity, str) or CALL_ID.fullmatch(identity) is None:
        raise RefusedError(
            400,
            f"1 validation error detected: Value '{identity!s:.80}' at '{at}.{kind}.toolUseId' failed to satisfy "
            "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
        )
    if kind == "toolUse" and not isinstance(value.get("input"), dict):
        raise RefusedError(
            400,
            f"The format of the value at {at}.toolUse.input is invalid. Provide a json object for the field and try "
            "again.",
        )
    if kind == "toolResult" and not isinstance(value.get("content"), list):
        raise RefusedError(400, f"{at}.toolResult.content: Member must not be null")


def check_reasoning(value: Document, at: str) -> None:
    if "redactedContent" in value:
        if not is_sealed(value["redactedContent"]):
            raise RefusedError(400, f"{at}: Invalid `data` in `redacted_thinking` block")
        return
    thought = value["reasoningText"]
    if not is_signed("thinking", thought["text"], thought.get("signature")):
        raise RefusedError(400, f"{at}: Invalid `signature` in `thinking` block")


def of_kind(message: Document, *kinds: str) -> list[Document]:
    return [block[kind] for block in objects_in(message["content"]) for kind in kinds if kind in block]


def check_calls(turns: list[Document]) -> None:
    """Each call has one result in the next turn, and there are no others."""
    for index, turn in enumerate(turns):
        called = {use["toolUseId"] for use in of_kind(turns[index - 1], "toolUse")} if index else set()
        results = [result["toolUseId"] for result in of_kind(turn, "toolResult")]
        if missing := called - set(results):
            raise RefusedError(
                400,
                f"Expected toolResult blocks at messages.{index}.content for the following Ids: "
                f"{', '.join(sorted(missing))}",
            )
        if len(results) > len(called):
            raise RefusedError(
                400,
                f"The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of "
                "previous turn.",
            )


def say(message: Document) -> list[Document]:
    results = of_kind(message, "toolResult")
    if results:
        return [{"role": "tool", "tool_call_id": r["toolUseId"], "content": text_of(r["content"])} for r in results]
    said: Document = {"role": message["role"], "content": text_of(message["content"])}
    calls = [say_call(use["toolUseId"], use.get("name"), use["input"]) for use in of_kind(message, "toolUse")]
    return [{**said, "tool_calls": calls}] if calls else [said]


def text_of(content: object) -> str:
    return join(
        block.get("text", f"[{next(iter(block), '')}]")
        for block in objects_in(content)
        if "reasoningContent" not in block and "cachePoint" not in block
    )
