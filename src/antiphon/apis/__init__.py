"""The APIs towards clients beside Chat Completions, by name. A new one is a package with a reader and a writer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.apis.api import ClientApi
from antiphon.apis.responses import RESPONSES
from antiphon.dialects import Dialect

APIS: Final[Mapping[str, ClientApi]] = MappingProxyType({api.name: api for api in (RESPONSES,)})
API_DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({name: api.dialect for name, api in APIS.items()})
