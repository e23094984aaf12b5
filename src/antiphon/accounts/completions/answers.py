"""What is kept of an answered turn: the completion as its client saw it, and its messages as they are listed."""

from __future__ import annotations

from typing import Final

import msgspec

from antiphon.accounts.entry import clean_text
from antiphon.chat.fold import fold
from antiphon.document import Document
from antiphon.flow.stored import AnsweredTurn, StoredCompletion
from antiphon.sse import Decoder

END: Final = b"[DONE]"
# Parameters that OpenAI's stored completions show; null where they were not sent.
SHOWN: Final = (
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "tools", "tool_choice"),
    "response_format",
)
NOT_KEPT: Final = ("antiphon", "obfuscation")  # of one answer alone


class NotWhole(Exception):
    """The answer is no completion, or did not come to its end [stored-whole]."""


def read_turn(turn: AnsweredTurn) -> StoredCompletion:
    """Raises NotWhole."""
    try:
        asked = msgspec.json.decode(turn.request.removeprefix(b"\xef\xbb\xbf"))
        answer = _read_stream(turn) if turn.is_stream else msgspec.json.decode(turn.answer)
        if not isinstance(asked, dict) or not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
            raise NotWhole("the answer is no completion")
        for name in NOT_KEPT:
            answer.pop(name, None)
        answer.pop("metadata", None)
        answer["request_id"] = turn.request_id
        for name in SHOWN:
            answer.setdefault(name, asked.get(name))
        answer.setdefault("input_user", asked.get("user"))
        metadata = asked.get("metadata")
        return StoredCompletion(
            id=answer["id"],
            key=turn.key,
            time=turn.time,
            model=clean_text(str(answer.get("model") or asked.get("model") or "")),
            metadata={str(name): str(value) for name, value in metadata.items()} if isinstance(metadata, dict) else {},
            request=msgspec.json.encode(_messages(answer["id"], asked.get("messages"))),
            answer=msgspec.json.encode(answer),
        )
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotWhole(f"the answer could not be read: {type(error).__name__}") from None


def _read_stream(turn: AnsweredTurn) -> Document:
    """The chunks that the client saw, put together as an SDK does [stored-as-seen]."""
    decoder = Decoder(limit=len(turn.answer) + 1)
    payloads = decoder.feed(turn.answer)
    if not payloads or payloads[-1] != END:
        raise NotWhole("the stream did not come to its end")
    chunks = [msgspec.json.decode(payload) for payload in payloads[:-1]]
    if any("error" in chunk for chunk in chunks):
        raise NotWhole("the stream ended with an error")
    for chunk in chunks:
        chunk.setdefault("choices", [])
    return fold(chunks, msgspec.json.decode(turn.usage) if turn.usage else None)


def _messages(id: str, messages: object) -> list[Document]:
    rows = []
    for place, message in enumerate(messages if isinstance(messages, list) else []):
        content = message.get("content")
        parts = content if isinstance(content, list) else None
        shown = {"refusal": None, "name": None, **message, "content": None if parts is not None else content}
        rows.append({"id": f"{id}-{place}", **shown, "content_parts": parts})
    return rows
