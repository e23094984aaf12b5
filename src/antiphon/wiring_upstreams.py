"""Names the adapters of upstreams: a row of the settings in, a client for it out."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial

from antiphon.credentials.kept import Kept, file_of
from antiphon.entropy import Entropy
from antiphon.errors import RequestError
from antiphon.http.client import Concurrency, Origin, Pool, Timeouts, parse_url, proxy_for, ssl_context
from antiphon.log import Log
from antiphon.protocols.sigv4 import Signer
from antiphon.settings import Settings
from antiphon.settings.model import UpstreamSettings
from antiphon.settings.models import model_table
from antiphon.upstreams.catalog import CATALOG, Auth, VendorRow
from antiphon.upstreams.client import Access, HttpUpstream, Sign
from antiphon.upstreams.foreign import ForeignUpstream, Speech
from antiphon.upstreams.foreign_protocols import PROTOCOLS
from antiphon.upstreams.memory import CallMemory
from antiphon.upstreams.signing import bearing, signed_anew, signed_with

# A TLS context for a file of certificates, or for the system's alone. Upstreams share it: to read the system's takes
# 30 ms and .8 MB each time.
Trust = Callable[[str | None], ssl.SSLContext]
MakeSpeech = Callable[[VendorRow], Speech]
MakeUpstream = Callable[[UpstreamSettings, str], HttpUpstream]  # its settings, and its URL
HEADERS = b"content-type: application/json\r\naccept: application/json, text/event-stream\r\nuser-agent: antiphon\r\n"


def upstream_maker(settings: Settings, entropy: Entropy, log: Log, room: str) -> MakeUpstream:
    """For all upstreams of one worker. `room`: where credentials are that are kept fresh."""
    kept = {
        upstream.name: Kept(file_of(room, position))
        for position, upstream in enumerate(settings.upstreams)
        if upstream.expires
    }
    return partial(_make, log=log, trust=cache(ssl_context), speech=_speech(settings, entropy), kept=kept)


def _make(
    upstream: UpstreamSettings, url: str, log: Log, trust: Trust, speech: MakeSpeech, kept: Mapping[str, Kept]
) -> HttpUpstream:
    origin, prefix = parse_url(url)
    row = CATALOG[upstream.speaks or upstream.protocol].at_host(origin.host)
    if upstream.offers is not None:
        row = replace(row, offers=frozenset(upstream.offers))
    proxy = proxy_for(origin, os.environ) if upstream.proxy else None
    is_tls = origin.tls or (proxy is not None and proxy.tls)
    timeout = upstream.timeout
    pool = Pool(
        origin,
        Timeouts(timeout.connect, timeout.first_byte, timeout.idle, timeout.total),
        ssl_context=trust(upstream.ca if origin.tls else None) if is_tls else None,
        proxy=proxy,
        max_idle=upstream.max_idle,
        concurrency=_concurrency(upstream),
        log=lambda what, error: log.error(f"upstream {upstream.name}: {what}", error),
    )
    headers = HEADERS
    if upstream.credential is not None:
        auth = row.auth if upstream.auth is None else Auth[upstream.auth.upper().replace("-", "_")]
        headers += auth.value + upstream.credential.reveal().encode() + b"\r\n"
    base = prefix.rstrip(b"/")
    path = row.path.replace("{api_version}", upstream.api_version or "")
    sign = _sign(upstream, row, origin, kept.get(upstream.name))
    access = Access(
        upstream.name,
        row,
        frozenset(upstream.lacks) if upstream.lacks is not None else row.lacks,
        pool,
        base + path.encode(),
        headers,
        think=upstream.think,
        forward=tuple(name.encode() for name in upstream.forward_headers),
        secrets=_secrets(upstream),
        fresh_secrets=partial(_fresh_secrets, kept.get(upstream.name)),
        log=log.error,
        models_path=None if row.models is None or sign is not None else base + row.models.encode(),
        sign=sign,
    )
    return ForeignUpstream(access, speech(row)) if row.is_foreign else HttpUpstream(access)


def _secrets(upstream: UpstreamSettings) -> tuple[str, ...]:
    """What no client and no log may see of what an upstream says."""
    kept = (upstream.credential, upstream.access_key_id, upstream.secret_access_key, upstream.session_token)
    return tuple(secret.reveal() for secret in kept if secret is not None)


def _fresh_secrets(kept: Kept | None) -> Iterable[str]:
    return () if kept is None else kept.values.values()


def _sign(upstream: UpstreamSettings, row: VendorRow, origin: Origin, kept: Kept | None) -> Sign | None:
    if kept is not None:
        look = partial(_look, kept)
        return bearing(look) if row.signs is None else signed_anew(look, upstream.region or "", row.signs, origin)
    key, secret, token = upstream.access_key_id, upstream.secret_access_key, upstream.session_token
    if row.signs is None or key is None or secret is None or upstream.region is None:
        return None
    session = None if token is None else token.reveal()
    signer = Signer(key.reveal(), secret.reveal(), region=upstream.region, service=row.signs, token=session)
    return signed_with(signer, origin.host_header)


def _look(kept: Kept) -> dict[str, str]:
    found = kept.look()
    if found is None:
        words = "The gateway has no valid credential for the upstream."
        raise RequestError(words, status=503, type="server_error", code="credential_unavailable", retry_after=5)
    return found


def _speech(settings: Settings, entropy: Entropy) -> MakeSpeech:
    """What the foreign upstreams of one worker share."""
    table, memory = model_table(settings), CallMemory()

    def speech(row: VendorRow) -> Speech:
        spoken = PROTOCOLS[row.speaks]()
        return Speech(
            spoken.protocol,
            partial(spoken.facts, table, row.table_vendor),
            memory,
            lambda: "call_" + entropy(12).hex(),
        )

    return speech


def _concurrency(upstream: UpstreamSettings) -> Concurrency | None:
    if upstream.max_concurrent is None:
        return None
    return Concurrency(upstream.max_concurrent, upstream.queue, upstream.queue_timeout)
