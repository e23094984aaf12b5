"""A request's messages as a model of text takes them: plain texts. What is no text is refused, by its place."""

from __future__ import annotations

from typing import Any, Final

from antiphon.chat.text import flatten
from antiphon.errors import RequestError

Document = dict[str, Any]
READABLE: Final = frozenset({"text", "refusal", "input_text", "output_text"})


def plain(document: Document) -> list[Document]:
    """A request's messages, each with its content as one string; the other keys stay."""
    if "audio" in (document.get("modalities") or ()):
        raise RequestError("This model does not support the 'audio' modality, it writes text only.", param="modalities")
    messages = document["messages"]
    return [{**message, "content": _text(message, position)} for position, message in enumerate(messages)]


def _text(message: Document, position: int) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in READABLE:
            raise RequestError(
                f"Invalid content type. {kind} is not supported by this model, which reads text only.",
                param=f"messages[{position}].content[{index}].type",
            )
    flat = flatten(content)
    return flat.text or flat.refusal or ""
