"""The crazyrouter dialect, by Crazyrouter's API reference. A new-api deployment; its errors say so."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from antiphon.dialects.dialect import Dialect, IdForm
from antiphon.dialects.error_bodies import crazyrouter_body
from antiphon.dialects.shapes import CRAZYROUTER_CHUNK, CRAZYROUTER_COMPLETION
from antiphon.dialects.spelling import ChunkUsage, FingerprintRule, Logprobs, Spelling

CRAZYROUTER: Final = Dialect(
    name="crazyrouter",
    id_form=IdForm.PREFIXED,
    spelling=Spelling(
        object="chat.completion",
        fingerprint=FingerprintRule.NULLABLE,
        chunk_fingerprint=FingerprintRule.ABSENT,
        logprobs=Logprobs.REQUESTED,
        chunk_usage=ChunkUsage.ABSENT,
        usage_details=False,
        full_message=False,
        text_always=False,
        function_call_finish=False,
        filter_results=False,
        obfuscates=False,
        completion=CRAZYROUTER_COMPLETION,
        chunk=CRAZYROUTER_CHUNK,
    ),
    error_body=crazyrouter_body,
    error_types=MappingProxyType({401: "authentication_error", 429: "rate_limit_error"}),
    server_error_type="new_api_error",
    models_extra=MappingProxyType({"success": True}),
    model_keys=("shutdown_date",),
)
