"""TLS towards upstreams: always verified.

Python's default context honours SSL_CERT_FILE and SSL_CERT_DIR; an upstream's own CA is added to those, so one private
CA does not make the public ones unknown.
"""

from __future__ import annotations

import ssl
from pathlib import Path


def ssl_context(ca: str | None = None) -> ssl.SSLContext:
    """`ca`: a PEM file, or a directory hashed by `openssl rehash`. OSError where it cannot be read or holds none."""
    context = ssl.create_default_context()
    # We speak HTTP/1.1 only; saying so keeps a server that prefers h2 from choosing it.
    context.set_alpn_protocols(["http/1.1"])
    if ca is not None:
        if Path(ca).is_dir():
            context.load_verify_locations(capath=ca)
        else:
            context.load_verify_locations(cafile=ca)
    return context
