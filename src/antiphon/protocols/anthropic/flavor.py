"""Who serves the Messages API, and how the same request is addressed there. Rows of data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from antiphon.errors import RequestError

NEWEST: Final = "2026-10-21"
# The only version that takes sampling parameters, documents in assistant messages and citations in user messages.
OLDEST: Final = "2023-06-01"

_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9._~@-]")


@dataclass(frozen=True, slots=True)
class Flavor:
    """One host of the API. Paths stand below the upstream's base URL."""

    name: str
    path: str = "/v1/messages"
    stream_path: str = "/v1/messages"
    oldest: str = OLDEST  # its word for the version of 2023
    names_model: bool = True  # `model` stands in the body; else in the path
    names_stream: bool = True  # `stream` stands in the body; else the path says it
    version_in_body: bool = False  # `anthropic_version`; else a header
    betas_in_body: bool = False  # `anthropic_beta`; else a header

    def path_of(self, model: str, *, stream: bool) -> str:
        path = self.stream_path if stream else self.path
        return path if self.names_model else path.replace("{model}", _segment(model))


# Base URLs: https://api.anthropic.com
#            https://{host}/v1/projects/{project}/locations/{region}
#            https://bedrock-runtime.{region}.amazonaws.com (streams are AWS event frames)
#            https://bedrock-mantle.{region}.api.aws/anthropic
#            https://{resource}.services.ai.azure.com/anthropic
ANTHROPIC: Final = Flavor("anthropic")
VERTEX: Final = Flavor(
    "vertex",
    path="/publishers/anthropic/models/{model}:rawPredict",
    stream_path="/publishers/anthropic/models/{model}:streamRawPredict",
    oldest="vertex-2023-10-16",
    names_model=False,
    version_in_body=True,
)
BEDROCK: Final = Flavor(
    "bedrock",
    path="/model/{model}/invoke",
    stream_path="/model/{model}/invoke-with-response-stream",
    oldest="bedrock-2023-05-31",
    names_model=False,
    names_stream=False,
    version_in_body=True,
    betas_in_body=True,
)
MANTLE: Final = Flavor("mantle")
FOUNDRY: Final = Flavor("foundry")

FLAVORS: Final[Mapping[str, Flavor]] = MappingProxyType(
    {flavor.name: flavor for flavor in (ANTHROPIC, VERTEX, BEDROCK, MANTLE, FOUNDRY)}
)


def _segment(model: str) -> str:
    """A model's name as one segment of a path. A name of dots alone would be another path."""
    if model.strip(".") == "":
        raise RequestError("This is no name of a model.", param="model", code="model_not_found", status=404)
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], model.encode()).decode()
