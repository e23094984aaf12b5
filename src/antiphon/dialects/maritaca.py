"""The maritaca dialect, by Maritaca's API reference (English)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from antiphon.dialects.dialect import Dialect, IdForm
from antiphon.dialects.error_bodies import maritaca_body
from antiphon.dialects.shapes import MARITACA_CHUNK, MARITACA_COMPLETION
from antiphon.dialects.spelling import ChunkUsage, FingerprintRule, Logprobs, Spelling

MARITACA: Final = Dialect(
    name="maritaca",
    id_form=IdForm.UUID,
    spelling=Spelling(
        object=None,
        fingerprint=FingerprintRule.DERIVED,
        chunk_fingerprint=FingerprintRule.DERIVED,
        logprobs=Logprobs.ALWAYS,
        chunk_usage=ChunkUsage.ABSENT,
        usage_details=False,
        full_message=False,
        text_always=True,
        function_call_finish=False,
        filter_results=False,
        obfuscates=False,
        completion=MARITACA_COMPLETION,
        chunk=MARITACA_CHUNK,
    ),
    error_body=maritaca_body,
    error_types=MappingProxyType({401: "invalid_request_error"}),
    server_error_type="server_error",
    models_extra=MappingProxyType({}),
    model_keys=("shutdown_date", "context_length", "top_provider"),
    model_nulls=("context_length", "top_provider"),
)
