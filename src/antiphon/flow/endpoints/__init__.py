"""The endpoints of the API that begin a turn, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from antiphon.flow.endpoints.chat import CHAT
from antiphon.flow.endpoints.completions import COMPLETIONS
from antiphon.flow.endpoints.counting import COUNTING
from antiphon.flow.endpoints.embeddings import EMBEDDINGS
from antiphon.flow.endpoints.endpoint import Endpoint, LocalEndpoint
from antiphon.flow.endpoints.moderations import MODERATIONS

__all__ = ["CHAT", "ENDPOINTS", "Endpoint", "LocalEndpoint"]

ENDPOINTS: Final[Mapping[str, Endpoint[Any] | LocalEndpoint[Any]]] = MappingProxyType(
    {
        "chat": CHAT,
        "completions": COMPLETIONS,
        "counting": COUNTING,
        "embeddings": EMBEDDINGS,
        "moderations": MODERATIONS,
    }
)
