"""Lists of models, as APIs other than OpenAI's write them. What is not known is left out or empty, never invented."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from antiphon.document import Document

Write = Callable[[Document], Document]

OLLAMA_VERSION: Final = "0.12.0"  # of Ollama, whose API is spoken
_METHODS: Final = ("generateContent", "streamGenerateContent", "countTokens")


@dataclass(frozen=True, slots=True)
class ModelListing:
    """How an API writes a list of models, and one of them."""

    all: Callable[[list[Document]], Document]
    one: Write


def _anthropic_model(model: Document) -> Document:
    out: Document = {
        "type": "model",
        "id": model["id"],
        "display_name": model["id"],
        "created_at": _time(model.get("created", 0)),
        "lifecycle": "active",
    }
    if type(model.get("context_length")) is int:
        out["max_input_tokens"] = model["context_length"]
    return out


def _anthropic_models(models: list[Document]) -> Document:
    data = [_anthropic_model(model) for model in models]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"data": data, "has_more": False, "first_id": first, "last_id": last}


def _gemini_model(model: Document) -> Document:
    out: Document = {
        "name": f"models/{model['id']}",
        "displayName": model["id"],
        "supportedGenerationMethods": list(_METHODS),
    }
    if type(model.get("context_length")) is int:
        out["inputTokenLimit"] = model["context_length"]
    return out


def _gemini_models(models: list[Document]) -> Document:
    return {"models": [_gemini_model(model) for model in models]}


def _ollama_model(model: Document) -> Document:
    """As /api/show tells it."""
    info: Document = {"general.architecture": "antiphon", "general.basename": model["id"]}
    if type(model.get("context_length")) is int:
        info["antiphon.context_length"] = model["context_length"]
    return {
        "modified_at": _time(model.get("created", 0)),
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _details(model),
        "model_info": info,
        "capabilities": ["completion", "tools"],
    }


def _ollama_models(models: list[Document]) -> Document:
    return {
        "models": [
            {
                "name": model["id"],
                "model": model["id"],
                "modified_at": _time(model.get("created", 0)),
                "size": 0,
                "digest": "",
                "details": _details(model),
            }
            for model in models
        ]
    }


def _details(model: Document) -> Document:
    owner = str(model.get("owned_by", ""))
    return {
        "parent_model": "",
        "format": "",
        "family": owner,
        "families": [owner],
        "parameter_size": "",
        "quantization_level": "",
    }


def _time(seconds: object) -> str:
    known = seconds if type(seconds) is int and 0 <= seconds < 2**35 else 0
    return datetime.fromtimestamp(known, UTC).isoformat().replace("+00:00", "Z")


LISTINGS: Final[Mapping[str, ModelListing]] = MappingProxyType(
    {
        "messages": ModelListing(_anthropic_models, _anthropic_model),
        "gemini": ModelListing(_gemini_models, _gemini_model),
        "ollama": ModelListing(_ollama_models, _ollama_model),
    }
)
