"""Thought signatures on the OpenAI side: how they are told, and how they are found again on the next turn.

Gemini signs parts: calls, texts, thoughts, images. A signature must come back on the same part. A call carries its own
in `extra_content.google.thought_signature`, as Google's compatibility layer does. All of them stand in
`thinking_blocks` too, which is enough by itself for the memory of clients that drop unknown fields:

    {"type": "thought_signature", "of": "call", "call": 0, "signature": …}
    {"type": "thought_signature", "of": "text", "start": 0, "end": 12, "signature": …}   characters of `content`
    {"type": "thought_signature", "of": "thought", "text": …, "at": 0, "signature": …}
    {"type": "gemini_part", "at": 12, "part": {…}}   a part that the OpenAI API has no place for: code, server tools
"""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes
from antiphon.protocols.protocol import Memory

SIGNATURE: Final = "thought_signature"
PART: Final = "gemini_part"
SKIP: Final = "skip_thought_signature_validator"  # for calls that never had a signature
_IN_ID: Final = "__thought__"  # LiteLLM hides signatures in ids
# What stands in the message itself, where it is judged. A part that a client has put together says none of it.
_SAID: Final = frozenset({"text", "functionCall", "functionResponse", "function_call", "function_response"})
# How others' ids of calls begin. Gemini's own are bare letters and digits.
_FOREIGN: Final = ("call_", "toolu_", "tooluse_", "chatcmpl-tool-", "fc_", "functions.")


def extra_content(signature: str) -> Document:
    return {"google": {SIGNATURE: signature}}


def signature_in(holder: Document) -> str | None:
    """Of a call, an image or a message, as Google's compatibility layer spells it, or as LiteLLM does."""
    for key in ("extra_content", "provider_specific_fields"):
        extra = holder.get(key)
        if isinstance(extra, dict):
            inner = extra.get("google", extra)
            if isinstance(inner, dict) and isinstance(found := inner.get(SIGNATURE), str) and found:
                return found
    return None


def split_id(call_id: str) -> tuple[str, str | None]:
    """-> (id, the signature that LiteLLM hid in it)."""
    bare, _, signature = call_id.partition(_IN_ID)
    return bare, signature or None


def is_own_id(call_id: str) -> bool:
    """Did Gemini give it? Only then it goes back."""
    return bool(call_id) and not call_id.startswith(_FOREIGN)


def find_blocks(
    message: Document, calls: list[Any], memory: Memory | None, param: str, changes: Changes
) -> list[Document]:
    """The blocks of an assistant's message that are Gemini's: its own, or those of the memory."""
    blocks = message.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        own = [block for block in blocks if isinstance(block, dict) and block.get("type") in (SIGNATURE, PART)]
        if len(own) < len(blocks):
            changes.drop(param + ".thinking_blocks", "they are another vendor's")
        if own:
            return own
    if memory is not None:
        for call in calls:
            if isinstance(call, dict) and isinstance(call_id := call.get("id"), str):
                found = memory.find(call_id)
                if found:
                    return [block for block in found if block.get("type") in (SIGNATURE, PART)]
    return []


def call_signatures(blocks: list[Document]) -> dict[int, str]:
    return {
        block["call"]: block["signature"]
        for block in blocks
        if block.get("of") == "call" and type(block.get("call")) is int and isinstance(block.get("signature"), str)
    }


def said_parts(text: str, blocks: list[Document]) -> list[Document]:
    """The text of a message as parts, with the signed ones and those without a place among them."""
    parts: list[Document] = []
    done = 0
    for block in blocks:
        start = block.get("start", block.get("at", 0))
        if block.get("of") == "call" or type(start) is not int:
            continue
        start = max(done, min(start, len(text)))
        if start > done:
            parts.append({"text": text[done:start]})
            done = start
        if block.get("of") == "text":
            end = block.get("end", start)
            end = max(start, min(end, len(text))) if type(end) is int else start
            parts.append(_signed({"text": text[start:end]}, block))
            done = end
        elif block.get("of") == "thought":
            parts.append(_signed({"text": str(block.get("text", "")), "thought": True}, block))
        elif isinstance(part := block.get("part"), dict) and _SAID.isdisjoint(part):
            parts.append(part)
    if done < len(text):
        parts.append({"text": text[done:]})
    return parts


def _signed(part: Document, block: Document) -> Document:
    signature = block.get("signature")
    return {**part, "thoughtSignature": signature} if isinstance(signature, str) and signature else part
