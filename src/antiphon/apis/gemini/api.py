"""Gemini's API as the gateway sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from antiphon.apis.api import ApiCall
from antiphon.apis.changes import ApiChange, ApiChanges
from antiphon.apis.gemini.answer import write_response
from antiphon.apis.gemini.contents import GeminiContents
from antiphon.apis.gemini.errors import write_error
from antiphon.apis.gemini.request import NAMES, read_request
from antiphon.apis.gemini.shape import SHAPE
from antiphon.apis.gemini.stream import GeminiApiStream
from antiphon.apis.gemini.targets import fit
from antiphon.apis.gemini.words import named
from antiphon.dialects import DIALECTS, Dialect
from antiphon.document import Document

NAME: Final = "gemini"
STREAM: Final = "streamGenerateContent"  # actions
COUNT: Final = "countTokens"


class GeminiRequest:
    """One request, read."""

    def __init__(
        self, document: Document, names: Mapping[str, str], asked: Document, *, strict: bool, is_array: bool
    ) -> None:
        """`document`: the chat request. `asked`: what the client sent."""
        self.document = document
        self.names = names
        self._asked = asked
        self._strict = strict
        self._is_array = is_array

    @property
    def dropped(self) -> dict[str, str]:
        return SHAPE.find_unread(self._asked)

    def fit(self, document: Document, protocol: str) -> tuple[Document, list[ApiChange]]:
        changes = ApiChanges(strict=self._strict)
        return fit(document, protocol, changes), changes.made

    def whole(self, completion: Document) -> Document:
        return write_response(completion)

    def stream(self) -> GeminiApiStream:
        return GeminiApiStream(is_array=self._is_array)

    def count(self, tokens: int, tokenizer: str, *, is_exact: bool) -> Document:
        return {"totalTokens": tokens, "antiphon": {"tokenizer": tokenizer, "estimated": not is_exact}}


class GeminiApi:
    name = NAME
    dialect: Dialect = replace(DIALECTS["openai"], name=NAME, error_body=write_error, takes_plain=False)

    judges_strict = True

    def read(self, document: Document, call: ApiCall) -> GeminiRequest:
        if call.action == COUNT and "contents" not in document:
            inner = named(document, "").get("generateContentRequest")
            document = named(inner, "generateContentRequest") if inner is not None else document
        contents = GeminiContents(call.restore)
        chat = read_request(document, call.model.removeprefix("models/"), contents)
        if call.action == STREAM:
            chat["stream"] = True
            chat["stream_options"] = {"include_usage": True}
        is_array = b"alt=sse" not in call.query.split(b"&")
        return GeminiRequest(chat, {**NAMES, **contents.names}, document, strict=call.strict, is_array=is_array)


GEMINI: Final = GeminiApi()
