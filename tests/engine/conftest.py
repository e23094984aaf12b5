"""Ways to speak to the embedded engine, through a real gateway that runs once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from openai import OpenAI

from tests.support.engine import Gateway


@pytest.fixture
def client(embedded: Gateway) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{embedded.url}/v1", api_key="unused", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture
def http(embedded: Gateway) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=embedded.url, timeout=60) as http:
        yield http
