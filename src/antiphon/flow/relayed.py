"""The endpoints whose bodies are relayed unread: pictures, sound, ranking, moderations, files, batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class RelayEndpoint:
    name: str  # its path behind the API's base, without ids
    judged: tuple[str, ...] = ()  # parameters whose text is judged
    names_model: bool = True  # by the parameter `model`

    @property
    def asks(self) -> str:
        return self.judged[0] if self.judged else "input"


RELAYED: Final[Mapping[str, RelayEndpoint]] = MappingProxyType(
    {
        endpoint.name: endpoint
        for endpoint in (
            RelayEndpoint("images/generations", ("prompt",)),
            RelayEndpoint("images/edits", ("prompt",)),
            RelayEndpoint("images/variations"),
            RelayEndpoint("audio/speech", ("input", "instructions")),
            RelayEndpoint("audio/transcriptions"),
            RelayEndpoint("audio/translations"),
            RelayEndpoint("rerank"),
            RelayEndpoint("moderations"),  # of a model that a route names; others are answered here
            RelayEndpoint("files", names_model=False),
            RelayEndpoint("batches", names_model=False),
        )
    }
)
