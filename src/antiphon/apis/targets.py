"""A chat request that was read from another API, as one upstream takes it. What that lacks is dropped and named."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from antiphon.apis.changes import ApiChanges
from antiphon.apis.histories import FOREIGN, fit_messages
from antiphon.chat.fields import FIELDS
from antiphon.document import Document

UNKNOWN: Final = "the upstream does not know it"
# Hosts that refuse sampling parameters beyond OpenAI's.
_PLAIN: Final = frozenset({"openai", "azure", "azure-deployments", "github"})
_SAMPLING: Final = frozenset({"top_k", "min_p", "repeat_penalty"})
_HINTS: Final = frozenset({"cache_control", "betas"})  # they change no answer
_LONGEST_USER: Final = 64  # characters, as many as a digest has
_EFFORTS: Final = ((4096, "low"), (16_384, "medium"))  # tokens of thinking, at most


def fit_common(document: Document, protocol: str, changes: ApiChanges, *, keeps_thinking: bool = False) -> Document:
    """`protocol`: the upstream's row of the catalog. `keeps_thinking`: it knows what a vendor has signed. Never alters
    `document`."""
    out = dict(document)
    knows_thinking = protocol in FOREIGN or protocol.startswith("anthropic")
    if "thinking" in out and not knows_thinking:
        _fit_thinking(out, changes)
    if not knows_thinking:
        _fit_user(out, changes)
    out["messages"] = fit_messages(out["messages"], protocol, changes, keeps_thinking=keeps_thinking)
    known = {"model", "thinking"} if protocol in _PLAIN else {"model", "thinking", *_SAMPLING}
    for param in [param for param in out if param not in FIELDS and param not in known]:
        del out[param]
        if param in _HINTS:
            changes.tell(param, UNKNOWN)
        else:
            changes.drop(param, UNKNOWN)
    return out


def _fit_user(out: Document, changes: ApiChanges) -> None:
    """OpenAI takes no longer names. Claude Code's have 150 characters."""
    user = out.get("user")
    if isinstance(user, str) and len(user) > _LONGEST_USER:
        out["user"] = sha256(user.encode()).hexdigest()
        changes.tell(
            "metadata.user_id", f"the upstream takes {_LONGEST_USER} characters: a digest was sent", "rewritten"
        )


def _fit_thinking(out: Document, changes: ApiChanges) -> None:
    """The OpenAI protocol has an effort in its place."""
    thinking = out.pop("thinking")
    if out.get("reasoning_effort") is None and thinking["type"] == "enabled":
        effort = next((word for most, word in _EFFORTS if thinking["budget_tokens"] <= most), "high")
        changes.rewrite("thinking", f"the upstream takes an effort: it is '{effort}'")
        out["reasoning_effort"] = effort
    else:
        changes.tell("thinking", "the upstream's model decides whether it thinks")
