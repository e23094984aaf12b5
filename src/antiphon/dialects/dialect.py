"""A dialect: how one vendor spells Chat Completions to its clients. A row of data, and functions that read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

from antiphon.chat.request import ChatRequest
from antiphon.dialects.error_bodies import error_type
from antiphon.dialects.spelling import Spelling, WriteOptions
from antiphon.dialects.writer import Writer
from antiphon.document import Document
from antiphon.errors import AntiphonError

_PREFIX: Final = "chatcmpl-"
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class IdForm(Enum):
    PREFIXED = "chatcmpl-…"
    UUID = "a UUID"


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str
    id_form: IdForm
    spelling: Spelling
    error_body: Callable[[AntiphonError, str, str], Document]  # error, its type, request id
    error_types: Mapping[int, str]  # by status, where the dialect has its own word
    server_error_type: str
    models_extra: Mapping[str, object]  # beside `object` and `data` of the list
    model_keys: tuple[str, ...]  # of a model, beyond the four that always stand; only when known
    model_nulls: tuple[str, ...] = ()  # of those, the ones that stand as null while unknown
    takes_plain: bool = False  # what `chat.plain` accepts is this dialect's own answer, to the byte

    @property
    def tells_sizes(self) -> bool:
        """Its models say how large their contexts are."""
        return "context_length" in self.model_keys

    def keeps_id(self, id: str) -> bool:
        match self.id_form:
            case IdForm.PREFIXED:
                return id.startswith(_PREFIX) and len(id) > len(_PREFIX)
            case IdForm.UUID:
                return _UUID.fullmatch(id) is not None
            case _:
                assert_never(self.id_form)

    def new_id(self, entropy: bytes) -> str:
        match self.id_form:
            case IdForm.PREFIXED:
                return _PREFIX + entropy.hex()
            case IdForm.UUID:
                return _uuid4(entropy)
            case _:
                assert_never(self.id_form)

    def writer(self, request: ChatRequest, options: WriteOptions) -> Writer:
        return Writer(self.spelling, request, options)

    def write_error(self, error: AntiphonError, request_id: str) -> Document:
        type = error_type(error, self.error_types, self.server_error_type)
        return self.error_body(error, type, request_id)

    def write_models(self, models: list[Document]) -> Document:
        return {"object": "list", "data": [self.write_model(model) for model in models], **self.models_extra}

    def write_model(self, model: Document) -> Document:
        written: Document = {
            "id": model["id"],
            "object": "model",
            "created": model.get("created", 0),
            "owned_by": model.get("owned_by", "antiphon"),
        }
        written.update((key, model.get(key)) for key in self.model_keys if key in model or key in self.model_nulls)
        return written


def _uuid4(entropy: bytes) -> str:
    """RFC 9562 §5.4: version 4 and variant 10 in their places, the rest random."""
    octets = bytearray(entropy)
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
