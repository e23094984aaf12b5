"""Ollama's API as the gateway sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from antiphon.apis.api import ApiCall
from antiphon.apis.changes import ApiChange, ApiChanges
from antiphon.apis.ollama.answer import OllamaAnswer, write_error
from antiphon.apis.ollama.request import OllamaReader
from antiphon.apis.ollama.shape import SHAPE
from antiphon.apis.targets import fit_common
from antiphon.dialects import DIALECTS, Dialect
from antiphon.document import Document

NAME: Final = "ollama"
GENERATE: Final = "generate"  # an action


class OllamaRequest:
    """One request, read."""

    def __init__(
        self,
        document: Document,
        names: Mapping[str, str],
        dropped: Mapping[str, str],
        asked: Document,
        now: Callable[[], float],
        *,
        is_prompt: bool,
        strict: bool,
    ) -> None:
        """`document`: the chat request. `asked`: what the client sent. `dropped`: parameters of it."""
        self.document = document
        self.names = names
        self._dropped = dropped
        self._asked = asked
        self._strict = strict
        self._answer = OllamaAnswer(document["model"], now, is_prompt=is_prompt)

    @property
    def dropped(self) -> dict[str, str]:
        return {**self._dropped, **SHAPE.find_unread(self._asked)}

    def fit(self, document: Document, protocol: str) -> tuple[Document, list[ApiChange]]:
        changes = ApiChanges(strict=self._strict)
        return fit_common(document, protocol, changes), changes.made

    def whole(self, completion: Document) -> Document:
        return self._answer.whole(completion)

    def stream(self) -> OllamaAnswer:
        return self._answer


class OllamaApi:
    name = NAME
    dialect: Dialect = replace(DIALECTS["openai"], name=NAME, error_body=write_error, takes_plain=False)

    judges_strict = True

    def read(self, document: Document, call: ApiCall) -> OllamaRequest:
        reader = OllamaReader(call.restore)
        is_prompt = call.action == GENERATE
        chat = reader.read(document, is_prompt=is_prompt)
        return OllamaRequest(
            chat, reader.names, reader.dropped, document, call.now, is_prompt=is_prompt, strict=call.strict
        )


OLLAMA: Final = OllamaApi()
