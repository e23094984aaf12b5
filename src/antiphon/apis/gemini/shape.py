"""What is read of Gemini's requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from antiphon.apis.gemini.words import camel
from antiphon.apis.unread import RequestShape, shape_of

_INLINE: Final = shape_of("mimeType", "data", "displayName")
_LINKED: Final = shape_of("mimeType", "fileUri")
_MEDIA: Final = shape_of("text", inlineData=_INLINE, fileData=_LINKED)
_ANSWER: Final = shape_of("id", "name", "response", parts=_MEDIA)
_CALL: Final = shape_of("id", "name", "args")
# Parts of other kinds stay as they are.
_PART: Final = replace(
    shape_of(
        *("text", "thought", "thoughtSignature"),
        inlineData=_INLINE,
        fileData=_LINKED,
        functionCall=_CALL,
        functionResponse=_ANSWER,
    ),
    one_of=frozenset({"text", "inlineData", "fileData", "functionCall", "functionResponse"}),
)
_CONTENT: Final = shape_of("role", parts=_PART)
_FUNCTION: Final = shape_of("name", "description", "parameters", "parametersJsonSchema")
_TOOL: Final = replace(shape_of(functionDeclarations=_FUNCTION), takes_others=True)

SHAPE: Final = RequestShape(
    {"systemInstruction": _CONTENT, "contents": _CONTENT, "tools": _TOOL}, at="[{}]", spell=camel
)
