"""The Messages API as the gateway sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from antiphon.apis.api import ApiCall
from antiphon.apis.changes import ApiChange, ApiChanges
from antiphon.apis.messages.answer import write_message
from antiphon.apis.messages.conversation import MessagesConversation
from antiphon.apis.messages.errors import write_error
from antiphon.apis.messages.request import KNOWN, NAMES, read_request
from antiphon.apis.messages.shape import SHAPE
from antiphon.apis.messages.stream import MessageStream
from antiphon.apis.messages.targets import fit
from antiphon.apis.reading import fault
from antiphon.dialects import DIALECTS, Dialect
from antiphon.document import Document

NAME: Final = "messages"
COUNT: Final = "count_tokens"  # an action


class MessagesRequest:
    """One request, read."""

    def __init__(self, document: Document, names: Mapping[str, str], asked: Document, *, strict: bool) -> None:
        """`document`: the chat request. `asked`: what the client sent."""
        self.document = document
        self.names = names
        self._asked = asked
        self._strict = strict
        self._stops = document.get("stop")

    @property
    def dropped(self) -> dict[str, str]:
        return SHAPE.find_unread(self._asked)

    def fit(self, document: Document, protocol: str) -> tuple[Document, list[ApiChange]]:
        changes = ApiChanges(strict=self._strict)
        return fit(document, protocol, changes), changes.made

    def whole(self, completion: Document) -> Document:
        return write_message(completion, self._stops)

    def stream(self) -> MessageStream:
        return MessageStream(self._stops)

    def count(self, tokens: int, tokenizer: str, *, is_exact: bool) -> Document:
        return {"input_tokens": tokens, "antiphon": {"tokenizer": tokenizer, "estimated": not is_exact}}


class MessagesApi:
    name = NAME
    dialect: Dialect = replace(DIALECTS["openai"], name=NAME, error_body=write_error, takes_plain=False)

    judges_strict = True

    def read(self, document: Document, call: ApiCall) -> MessagesRequest:
        if call.strict:
            for param in document:
                if param not in KNOWN:
                    raise fault(param, "Extra inputs are not permitted", "unknown_parameter")
        conversation = MessagesConversation(call.restore)
        chat = read_request(document, conversation, counting=call.action == COUNT)
        betas = call.headers.get(b"anthropic-beta", b"").decode("latin-1")
        if named := [beta.strip() for beta in betas.split(",") if beta.strip()]:
            chat["betas"] = named
        if chat.get("stream"):
            chat["stream_options"] = {"include_usage": True}
        return MessagesRequest(chat, {**NAMES, **conversation.names}, document, strict=call.strict)


MESSAGES: Final = MessagesApi()
