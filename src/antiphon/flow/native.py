"""Requests that an upstream takes in the client's own API: sent as they are, answers read into chat
[native-request]."""

from __future__ import annotations

from antiphon.apis.api import ApiRequest, EventReader, NativeRequest
from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.request import ChatRequest
from antiphon.chat.stream import ChatStream
from antiphon.document import Document
from antiphon.flow.ports import Upstream


def native_upstream(asked: ApiRequest | None, upstream: Upstream) -> Upstream | None:
    """The upstream at its endpoint for the client's API. None: it is asked by Chat Completions."""
    if asked is None or not isinstance(asked, NativeRequest):
        return None
    return upstream.at(asked.native_endpoint)


class NativeStream(ChatStream):
    """The stream machine, fed with another API's events."""

    def __init__(self, asked: NativeRequest, request: ChatRequest, stamp: AnswerDefaults) -> None:
        super().__init__(request, stamp)
        self._asked = asked
        self._reader: EventReader = asked.read_events()

    @property
    def repeats(self) -> bool:
        return False

    def feed(self, chunk: Document, source: int = 0) -> list[Document]:
        return [out for read in self._reader.feed(chunk) for out in super(NativeStream, self).feed(read, source)]

    def replay(self, document: Document) -> list[Document]:
        """As chunks that were read already."""
        return super().replay(self._asked.read_answer(document))
