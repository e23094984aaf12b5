"""The skytells dialect, by Skytells' API reference. Its objects always carry safety fields."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from antiphon.dialects.dialect import Dialect, IdForm
from antiphon.dialects.error_bodies import skytells_body
from antiphon.dialects.shapes import SKYTELLS_CHUNK, SKYTELLS_COMPLETION
from antiphon.dialects.spelling import ChunkUsage, FingerprintRule, Logprobs, Spelling

SKYTELLS: Final = Dialect(
    name="skytells",
    id_form=IdForm.PREFIXED,
    spelling=Spelling(
        object="chat.completion",
        fingerprint=FingerprintRule.NULLABLE,
        chunk_fingerprint=FingerprintRule.NULLABLE,
        logprobs=Logprobs.ALWAYS,
        chunk_usage=ChunkUsage.ALWAYS,
        usage_details=True,
        full_message=True,
        text_always=False,
        function_call_finish=False,
        filter_results=True,
        obfuscates=False,
        completion=SKYTELLS_COMPLETION,
        chunk=SKYTELLS_CHUNK,
    ),
    error_body=skytells_body,
    error_types=MappingProxyType({401: "authentication_error"}),
    server_error_type="server_error",
    models_extra=MappingProxyType({}),
    model_keys=("shutdown_date",),
)
