"""Reads a large request. Its body is measured before it is parsed, and other turns go on meanwhile."""

from __future__ import annotations

import asyncio

from antiphon.chat.bounds import FREE, PIECE, JsonBounds, Scan, is_light
from antiphon.flow.endpoints import Endpoint, LocalEndpoint
from antiphon.flow.ports import Incoming
from antiphon.flow.turn import R, Turn


async def read_large(
    turn: Turn[R], incoming: Incoming, endpoint: Endpoint[R] | LocalEndpoint[R], bounds: JsonBounds
) -> None:
    """Raises RequestError."""
    await _measure(incoming.body, bounds)
    turn.request = endpoint.parse(incoming, bounds)
    await asyncio.sleep(0)  # to parse it took a while, and to send it takes one again


async def measure(body: bytes, bounds: JsonBounds) -> None:
    """Raises RequestError where a body that may be heavy is."""
    if len(body) > FREE and not is_light(body, bounds):
        await _measure(body, bounds)


async def _measure(body: bytes, bounds: JsonBounds) -> None:
    scan = Scan(bounds)
    for start in range(0, len(body), PIECE):
        scan.feed(body[start : start + PIECE])
        await asyncio.sleep(0)
