"""`python -m tests.protocols.cohere_requests 500` writes what is said to Cohere, as lines for judges/cohere.py."""

from __future__ import annotations

import json
import sys
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from antiphon.errors import RequestError
from antiphon.protocols.cohere import Cohere
from antiphon.protocols.facts import ModelFacts
from tests.protocols.bedrock_requests import FACTS, REQUESTS

Document = dict[str, Any]


def main(count: int) -> None:
    @settings(max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(REQUESTS, FACTS)
    def write(document: Document, facts: ModelFacts) -> None:
        try:
            encoded = Cohere().encode(document, "command-a-03-2025", facts, None, strict=False)
        except RequestError:
            return
        print(json.dumps({"path": encoded.path, "body": encoded.body}))

    write()


if __name__ == "__main__":
    main(int(sys.argv[1]))
