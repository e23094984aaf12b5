"""The openai dialect: OpenAI's published schema and its page on chunks."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from antiphon.dialects.dialect import Dialect, IdForm
from antiphon.dialects.error_bodies import openai_body
from antiphon.dialects.shapes import OPENAI_CHUNK, OPENAI_COMPLETION
from antiphon.dialects.spelling import ChunkUsage, FingerprintRule, Logprobs, Spelling

OPENAI: Final = Dialect(
    name="openai",
    id_form=IdForm.PREFIXED,
    spelling=Spelling(
        object="chat.completion",
        fingerprint=FingerprintRule.PRESENT,
        chunk_fingerprint=FingerprintRule.PRESENT,
        logprobs=Logprobs.ALWAYS,
        chunk_usage=ChunkUsage.REQUESTED,
        usage_details=True,
        full_message=True,
        text_always=False,
        function_call_finish=True,
        filter_results=False,
        obfuscates=True,
        completion=OPENAI_COMPLETION,
        chunk=OPENAI_CHUNK,
    ),
    error_body=openai_body,
    error_types=MappingProxyType({401: "invalid_request_error"}),
    server_error_type="server_error",
    models_extra=MappingProxyType({}),
    model_keys=("shutdown_date",),
    takes_plain=True,
)
