"""A panel of one evaluator of each kind, built from settings as a worker builds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from antiphon.evaluators.backends import load_all, loaders
from antiphon.evaluators.composite import Composite
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.scripted import ScriptedUpstream
from antiphon.wiring import build
from antiphon.wiring_evaluators import evaluator_orders
from tests.support.evaluators import evaluating
from tests.support.moderators import CREDENTIAL, MODERATORS

SERVER = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "{log}"
"""


@asynccontextmanager
async def panel_of(room: Path, row: str) -> AsyncIterator[Composite]:
    """`row`: what stands under [[safety.evaluator]]."""
    path = room / "antiphon.toml"
    rest = f"[engine]\nenabled = false\n[safety]\nprocesses = 1\n[[safety.evaluator]]\n{row}\n"
    path.write_text(f"{SERVER.format(log=room / 'errors')}\n{rest}")
    settings = load(str(path), {"VENDOR": CREDENTIAL}, CATALOG)
    orders = evaluator_orders(settings, str(room))
    async with AsyncExitStack() as stack:
        if orders is not None:
            parts, faults = load_all(loaders(orders))
            assert not faults
            await stack.enter_async_context(evaluating(Path(orders.sockets[0]), parts))
        worker = await build(settings, born=0, room=str(room), ready=lambda: None, evaluators=orders)
        stack.push_async_callback(worker.close)
        assert worker.judge is not None
        yield worker.judge


@asynccontextmanager
async def panel_at(room: Path, kind: str, *, more: str = "") -> AsyncIterator[tuple[Composite, ScriptedUpstream]]:
    """One remote evaluator, and the server that it asks."""
    answerer, row = MODERATORS[kind]
    service = ScriptedUpstream(answerer)
    url = (await service.start()).removesuffix("/v1")
    try:
        async with panel_of(room, f'kind = "{kind}"\n{row.format(url=url)}\n{more}') as panel:
            yield panel, service
    finally:
        await service.stop()
