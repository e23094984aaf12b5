"""The pooled HTTP/1.1 client, whole: what other rooms import.

    pool = Pool(origin, Timeouts(), ssl_context=ssl_context(None), proxy=proxy_for(origin, os.environ))
    call = pool.send(b"POST", b"/v1/chat/completions", b"content-type: application/json\\r\\n", body, sink)

origin.py says where; proxy.py, tls.py and dial.py how to get there; pool.py which connection; client_connection.py and
client_reader.py what came back; call.py what the sender holds. Redirects are not followed: a 3xx is an answer.
"""

from __future__ import annotations

from antiphon.http.call import (
    BodySource,
    Call,
    ClientError,
    Concurrency,
    Failure,
    Pieces,
    RelayCall,
    Sink,
    Timeouts,
    WholeSink,
)
from antiphon.http.origin import Origin, parse_url
from antiphon.http.pool import Pool
from antiphon.http.proxy import Proxy, proxy_for
from antiphon.http.tls import ssl_context

__all__ = [
    "BodySource",
    "Call",
    "ClientError",
    "Concurrency",
    "Failure",
    "Origin",
    "Pieces",
    "Pool",
    "Proxy",
    "RelayCall",
    "Sink",
    "Timeouts",
    "WholeSink",
    "parse_url",
    "proxy_for",
    "ssl_context",
]
