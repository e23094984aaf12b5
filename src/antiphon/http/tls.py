"""TLS contexts. Upstreams are always verified. Clients see the server's certificate, and show theirs where asked to.

Python's default context honours SSL_CERT_FILE and SSL_CERT_DIR; an upstream's own CA is added to those, so one private
CA does not make the public ones unknown. Clients are verified against the given CA alone.
"""

from __future__ import annotations

import ssl
from pathlib import Path

ALPN = ["http/1.1"]  # saying so keeps a peer that prefers h2 from choosing it


def ssl_context(ca: str | None = None) -> ssl.SSLContext:
    """`ca`: a PEM file, or a directory hashed by `openssl rehash`. OSError where it cannot be read or holds none."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(ALPN)
    if ca is not None:
        if Path(ca).is_dir():
            context.load_verify_locations(capath=ca)
        else:
            context.load_verify_locations(cafile=ca)
    return context


def server_context(cert: str, key: str, client_ca: str | None = None, *, required: bool = True) -> ssl.SSLContext:
    """`client_ca`: a PEM file; clients show a certificate that it has signed. Not `required`: those that have one."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(ALPN)
    if client_ca is not None:
        context.load_verify_locations(cafile=client_ca)
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    return context


def asks_certificates(context: ssl.SSLContext | None) -> bool:
    return context is not None and context.verify_mode is not ssl.CERT_NONE


def why_closed(error: Exception) -> str:
    """For the log."""
    if not isinstance(error, ssl.SSLError):
        return str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was refused: {error.verify_message}"
    if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "it showed no certificate"
    return f"the TLS handshake failed: {(error.reason or 'unknown reason').lower().replace('_', ' ')}"
