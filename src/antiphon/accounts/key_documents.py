"""An issued key as its owner sees it, in a terminal or through the admin API."""

from __future__ import annotations

from typing import Any

import msgspec

from antiphon.accounts.commands.running import write_time
from antiphon.accounts.keys import KeyRecord


def key_state(record: KeyRecord, now: int) -> str:
    if record.key.revoked is not None:
        return "revoked"
    return "live" if record.key.is_live(now) else "expired"


def key_document(record: KeyRecord, now: int) -> dict[str, Any]:
    """Without digests: nobody needs them."""
    document: dict[str, Any] = msgspec.to_builtins(record.key)
    document["state"] = key_state(record, now)
    for name in ("created", "expires", "revoked"):
        document[name] = write_time(document[name]) or None
    document["secrets"] = [
        {"hint": secret.hint, "created": write_time(secret.created), "expires": write_time(secret.expires) or None}
        for secret in record.secrets
    ]
    return document
