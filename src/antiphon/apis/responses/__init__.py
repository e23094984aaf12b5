"""OpenAI's Responses API: POST /v1/responses.

A request is read into a chat request (`request`, `items`, `tools`), and the answer is written from a chat completion
(`answer`) or from chat chunks (`stream`). Reasoning goes both ways (`reasoning`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from antiphon.apis.api import ApiCall, ApiRequest, ApiStored
from antiphon.apis.responses.request import read
from antiphon.apis.responses.stored import KIND, follows, may_refer, refers_to
from antiphon.dialects.openai import OPENAI
from antiphon.document import Document


class ResponsesApi:
    name = "responses"
    dialect = replace(OPENAI, name="responses", takes_plain=False)

    judges_strict = False
    kind = KIND

    def may_refer(self, body: bytes) -> bool:
        return may_refer(body)

    def refers_to(self, document: Document) -> list[str]:
        return refers_to(document)

    def follows(self, stored: ApiStored) -> list[str]:
        return follows(stored)

    def read(self, document: Document, call: ApiCall) -> ApiRequest:
        return read(document, call)


RESPONSES: Final = ResponsesApi()
