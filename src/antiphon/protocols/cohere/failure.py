"""Cohere's errors: `{"id", "message"}` with a status; and answers that end in one."""

from __future__ import annotations

from typing import Final

from antiphon.chat.event import decode
from antiphon.chat.failure import read_failure
from antiphon.errors import UpstreamError

# Statuses of Cohere's own -> the usual ones: 498 is a token it does not know, 499 a request it gave up.
STATUSES: Final = {498: 401, 499: 500}


def read_answer(status: int, body: bytes) -> UpstreamError:
    try:
        document: object = decode(body)
    except UpstreamError:
        document = body.decode("utf-8", "replace")[:2000]
    return read_failure(document, STATUSES.get(status, status))
