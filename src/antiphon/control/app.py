"""The control port's application: health and metrics for whoever reaches it, the admin API behind a credential."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from antiphon.control.admin.api import admin_routes
from antiphon.control.admin.credential import AdminGate
from antiphon.control.admin.keys import KeyEndpoints
from antiphon.control.admin.ledger import LedgerEndpoints
from antiphon.control.admin.live import LiveEndpoints
from antiphon.control.admin.settings import SettingsEndpoints
from antiphon.control.admin.store import OpenStore
from antiphon.control.answers import NO_STORE, Json, refusal
from antiphon.control.health import Health
from antiphon.control.options import ControlOptions
from antiphon.control.samples import gather
from antiphon.metrics.families import COST, EVALUATORS
from antiphon.metrics.render import OPENMETRICS, PLAIN, render
from antiphon.metrics.table import MetricsTable, names_path, read_names, table_path

Log = Callable[[str, BaseException | None], None]


def build_app(options: ControlOptions, log: Log) -> ASGIApp:
    table = MetricsTable(table_path(options.room))
    health = Health(options, table)
    without = [*(() if options.judged else (EVALUATORS,)), *(() if options.store is not None else (COST,))]

    async def healthz(request: Request) -> Response:
        return Json({"status": "ok"}, headers=NO_STORE)

    async def readyz(request: Request) -> Response:
        ready, said = health.look()
        return Json(said, 200 if ready else 503, headers=NO_STORE)

    async def metrics(request: Request) -> Response:
        openmetrics = "application/openmetrics-text" in request.headers.get("accept", "")
        names = read_names(names_path(options.room))
        text = render(table, names, gather(options), openmetrics=openmetrics, without=without)
        return Response(text, media_type=OPENMETRICS if openmetrics else PLAIN, headers=NO_STORE)

    routes = [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]
    routes += _admin(options, table, log)
    return Guarded(Starlette(routes=routes, exception_handlers={HTTPException: _refuse, Exception: _fail}), log)


def _admin(options: ControlOptions, table: MetricsTable, log: Log) -> list[Route]:
    store = OpenStore(options.store)
    endpoints = [
        *KeyEndpoints(store).rows(),
        *LedgerEndpoints(store).rows(),
        *LiveEndpoints(options, table).rows(),
        *SettingsEndpoints(options).rows(),
    ]

    def audit(what: str, address: str) -> None:
        log(f"admin: {what} from {address}", None)

    return admin_routes(endpoints, AdminGate(options.state, options.settings.server.admin_secret), audit)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: f"There is no {request.url.path[:200]} here.", 405: "This path does not take that method."}
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    message = words.get(error.status_code, error.detail)
    return refusal(error.status_code, message, code, dict(error.headers or {}))


async def _fail(request: Request, error: Exception) -> Response:
    return refusal(500, "The gateway failed by its own fault.", "internal_error")


class Guarded:
    """Our own fault becomes a line of the error log and a 500."""

    def __init__(self, app: ASGIApp, log: Log) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            self._log("a request to the control port failed by our own fault", error)
            if not begun:
                await (await _fail(Request(scope), error))(scope, receive, send)
