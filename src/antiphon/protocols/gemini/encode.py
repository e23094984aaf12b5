"""A Chat Completions request as `generateContent` takes it."""

from __future__ import annotations

from antiphon.document import Document
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini.config import say_config, say_own
from antiphon.protocols.gemini.contents import GeminiConversation
from antiphon.protocols.gemini.media import Media
from antiphon.protocols.gemini.models import is_current
from antiphon.protocols.gemini.thinking import thinking_config
from antiphon.protocols.gemini.tools import say_choice, say_tools
from antiphon.protocols.gemini.words import path_of
from antiphon.protocols.protocol import Encoded, Memory


def encode(
    document: Document, model: str, facts: ModelFacts, memory: Memory | None, *, strict: bool, vertex: bool
) -> Encoded:
    changes = Changes(strict=strict)
    current = is_current(model)
    media = Media(changes, images=facts.takes_images, resolution=current)
    conversation = GeminiConversation(changes, media, facts, memory, signs=current)
    conversation.read(document["messages"])
    tools, exact = say_tools(document, changes)
    choice = say_choice(document, tools, exact, facts, changes)
    calls = any("functionDeclarations" in tool for tool in tools)
    config = say_config(document, facts, changes, json=current or not calls)
    if thinking := thinking_config(document, facts, changes):
        config["thinkingConfig"] = thinking
    body: Document = {}
    if conversation.system:
        body["systemInstruction"] = {"parts": conversation.system}
    if tools:
        body["tools"] = tools
    if choice:
        body["toolConfig"] = {"functionCallingConfig": choice}
    body["contents"] = conversation.contents
    say_own(document, body, config, changes, vertex=vertex)
    if config:
        body["generationConfig"] = config
    return Encoded(path_of(model, stream=document.get("stream") is True), body, changes=tuple(changes.made))
