"""The admin API: every endpoint behind the credential, every error in one shape, every change in the
log [admin-apart]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from antiphon import __version__
from antiphon.accounts.stores.contract import StoreDown, StoreError
from antiphon.control.admin.credential import AdminGate
from antiphon.control.admin.endpoint import AdminEndpoint, AdminError, check_query
from antiphon.control.admin.openapi import describe
from antiphon.control.answers import NO_STORE, Json, refusal

PREFIX = "/admin/v1"
Audit = Callable[[str, str], None]  # what was done, and from where


def admin_routes(endpoints: Sequence[AdminEndpoint], gate: AdminGate, audit: Audit) -> list[Route]:
    document: dict[str, Any] = {}

    async def openapi(request: Request) -> Any:
        return document

    async def root(request: Request) -> Any:
        return {"name": "antiphon", "version": __version__, "paths": [f"{PREFIX}{row.path}" for row in everything]}

    everything = [
        AdminEndpoint("GET", "", "What there is.", root),
        AdminEndpoint("GET", "/openapi.json", "This API as an OpenAPI document.", openapi, is_open=True),
        *endpoints,
    ]
    document.update(describe(everything))
    paths: dict[str, dict[str, AdminEndpoint]] = {}
    for endpoint in everything:
        paths.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [
        Route(f"{PREFIX}{path}", _handler(methods, gate, audit), methods=list(methods))
        for path, methods in paths.items()
    ]


def _handler(methods: dict[str, AdminEndpoint], gate: AdminGate, audit: Audit) -> Callable[..., Any]:
    async def handle(request: Request) -> Response:
        endpoint = methods.get("GET" if request.method == "HEAD" else request.method)
        assert endpoint is not None
        address = request.client.host if request.client else "unix"
        if not endpoint.is_open:
            refused = await _admit(request, gate, address)
            if refused is not None:
                return refused
        try:
            check_query(request, endpoint.query)
            document = await endpoint.answer(request)
        except AdminError as error:
            return refusal(error.status, error.message, error.code, param=error.param)
        except StoreDown as error:
            return refusal(
                503, f"The store of accounts cannot be used now: {error}", "store_down", {"retry-after": "1"}
            )
        except StoreError as error:
            return refusal(409, str(error), "store_refused")
        if endpoint.method != "GET" and endpoint.text_body is None:
            audit(f"{endpoint.method} {request.url.path[:200]}", address)
        return Json(document, endpoint.status, headers=NO_STORE)

    return handle


async def _admit(request: Request, gate: AdminGate, address: str) -> Response | None:
    if not gate.is_set:
        words = "There is no admin credential: the gateway could not keep one. Set [server] admin_secret."
        return refusal(503, words, "no_admin_credential")
    if await gate.admits(request.headers.get("authorization", ""), address):
        return None
    words = "The admin credential is missing or wrong. Send it as `authorization: Bearer adm-…`."
    return refusal(401, words, "unauthorized", {"www-authenticate": 'Bearer realm="antiphon admin"'})
