"""The fast path: which requests are sent and which answers are passed on without becoming a document. Pure functions.

More than half of what a turn costs is work that a usual one does not need (bench/RESULTS.md): a document, checks, a
task. What is usual is recognised by narrow types (`chat.plain_request`, `chat.plain_answer`); whatever differs in the
least takes the whole way. Both ways give the same result (docs/adr/0006-shortcuts.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from antiphon.chat import plain_answer
from antiphon.chat.plain_answer import PlainAnswer
from antiphon.chat.request import ChatRequest
from antiphon.dialects import Dialect
from antiphon.flow.ports import Upstream
from antiphon.routing.route import Route, RouteTable


class FastTarget(NamedTuple):
    """The only target of a route."""

    route: Route
    upstream: Upstream
    model: str | None


FastTargets = Mapping[str, FastTarget | None]  # by route; None: it has several targets, or one that needs documents


def fast_targets(routes: RouteTable, upstreams: Mapping[str, Upstream]) -> FastTargets:
    found: dict[str, FastTarget | None] = {}
    for route in routes:
        target = route.targets[0]
        upstream = upstreams[target.upstream]
        is_fast = len(route.targets) == 1 and upstream.plain is not None and not upstream.think and not route.renames
        found[route.model] = FastTarget(route, upstream, target.model) if is_fast else None
    return found


def fast_body(request: ChatRequest, upstream: Upstream, model: str) -> bytes | None:
    """The request as it is sent. None: it needs a document."""
    plain, rules = request.plain, upstream.plain
    if plain is None or rules is None or not (rules.takes_all or rules.takes(plain)):
        return None
    return rules.write(plain, model)


def fast_answer(body: bytes, request: ChatRequest, dialect: Dialect) -> PlainAnswer | None:
    """None: the answer takes the whole way."""
    plain = plain_answer.read_plain(body, named_tool=request.named_tool)
    return plain if plain is not None and dialect.keeps_id(plain.id) else None
