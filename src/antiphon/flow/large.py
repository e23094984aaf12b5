"""Reads a large request. Its body is measured before it is parsed, and other turns go on meanwhile."""

from __future__ import annotations

import asyncio

from antiphon.chat.bounds import FREE, LARGE, PIECE, JsonBounds, Scan, is_light
from antiphon.chat.outline import OutlineReader
from antiphon.flow.api_store import fetch_stored
from antiphon.flow.endpoints import Endpoint, LocalEndpoint
from antiphon.flow.endpoints.endpoint import read_document
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Incoming
from antiphon.flow.turn import R, Turn


async def read_large(
    turn: Turn[R], incoming: Incoming, endpoint: Endpoint[R] | LocalEndpoint[R], gateway: Gateway
) -> None:
    """Raises RequestError."""
    reader = OutlineReader(incoming.body, gateway.bounds, gateway.entropy(16).hex())
    for _ in reader.steps():
        await asyncio.sleep(0)
    if len(incoming.body) > LARGE:
        incoming.outline = reader.outline
        incoming.document = read_document(incoming, gateway.bounds)
        await asyncio.sleep(0)
    if incoming.api is not None and gateway.completions is not None:
        await fetch_stored(turn, incoming, gateway, gateway.completions)
    turn.request = endpoint.parse(incoming, gateway.bounds)
    turn.speak_api(incoming.api_request)
    incoming.document = None
    await asyncio.sleep(0)  # to parse it took a while, and to send it takes one again


async def measure(body: bytes, bounds: JsonBounds) -> None:
    """Raises RequestError where a body that may be heavy is."""
    if len(body) <= FREE or is_light(body, bounds):
        return
    scan = Scan(bounds)
    for start in range(0, len(body), PIECE):
        scan.feed(body[start : start + PIECE])
        await asyncio.sleep(0)
