"""The APIs towards clients beside Chat Completions, by name. A new one is a package with a reader and a writer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.apis.api import ClientApi
from antiphon.apis.gemini.api import GEMINI
from antiphon.apis.maritalk.api import MARITALK
from antiphon.apis.messages.api import MESSAGES
from antiphon.apis.ollama.api import OLLAMA
from antiphon.apis.responses import RESPONSES
from antiphon.dialects import Dialect

ALL: Final[tuple[ClientApi, ...]] = (RESPONSES, MESSAGES, GEMINI, OLLAMA, MARITALK)
APIS: Final[Mapping[str, ClientApi]] = MappingProxyType({api.name: api for api in ALL})
API_DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({name: api.dialect for name, api in APIS.items()})
