"""Bedrock's runtime: its paths and errors."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from urllib.parse import unquote
from uuid import uuid4

from antiphon.document import Document
from antiphon.upstreams.scripted.bedrock.answer import spell_answer, spell_events
from antiphon.upstreams.scripted.bedrock.frames import event_bytes, exception_frame, spoil
from antiphon.upstreams.scripted.bedrock.request import read_request
from antiphon.upstreams.scripted.bedrock.signature import check_credential
from antiphon.upstreams.scripted.language import Credential, RefusedError, ScriptedAnswer, ScriptedEvent, as_asked
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.script import Script, json_answer

TURN = re.compile(r"/model/([^/]+)/(converse|converse-stream)")
KINDS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
UNKNOWN = "UnknownOperationException"
OVERLOADED = "The system encountered an unexpected error during processing. Try your request again."
STREAM = "application/vnd.amazon.eventstream"
NAMESPACE = ":http://internal.amazon.com/coral/com.amazon.bedrock/"


class BedrockLanguage:
    base = ""

    def route(self, request: Received, credential: Credential | None, models: Mapping[str, str]) -> Script | None:
        """The list of models is at another host."""
        if TURN.fullmatch(request.path) is None:
            raise RefusedError(404, "", UNKNOWN)
        if request.method != "POST":
            raise RefusedError(405, "", UNKNOWN)
        if credential is not None:
            check_credential(request, credential, time.time())
        return None

    def read(self, request: Received) -> Document:
        turn = TURN.fullmatch(request.path)
        assert turn is not None
        document = read_request(request.body, unquote(turn[1]))
        return {**document, "stream": turn[2] == "converse-stream"}

    def whole(self, answer: ScriptedAnswer) -> Document:
        return spell_answer(answer)

    def events(self, answer: ScriptedAnswer) -> list[ScriptedEvent]:
        return spell_events(answer)

    def headers(self, answer: ScriptedAnswer) -> Mapping[str, str]:
        return {"content-type": STREAM if answer.stream else "application/json", **_identity()}

    def refuse(self, refused: RefusedError) -> Script:
        kind = refused.kind or kind_of(refused.status)
        later = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
        headers = {**_identity(), "x-amzn-errortype": kind + NAMESPACE, **later}
        body = {} if kind == UNKNOWN else {"message": refused.message or "The request could not be read."}
        return json_answer(body, refused.status, headers)

    def failure(self, status: int | None) -> Document:
        if status is None:
            return {"__type": "ServiceUnavailableException", "message": OVERLOADED}
        return {"__type": kind_of(status), "message": as_asked(status)}

    def failure_event(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        """A model's own error has another name there."""
        told = self.failure(answer.status)
        kind = str(told["__type"]).replace("ModelError", "ModelStreamError")
        return exception_frame(kind[0].lower() + kind[1:], told["message"])

    def garbage(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        return event_bytes("contentBlockDelta", b'{"contentBlockIndex": 0, "del')

    def bad_frame(self) -> bytes:
        return spoil(event_bytes("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"x"}}'))


def kind_of(status: int) -> str:
    return KINDS.get(status, "InternalServerException" if status >= 500 else "ValidationException")


def _identity() -> dict[str, str]:
    return {"x-amzn-requestid": str(uuid4())}
